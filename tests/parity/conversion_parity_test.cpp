// Casts, fills and folds have the bits of the CPU.
#include <memory>

#include "sides.hpp"

using namespace parity;

namespace {

Bytes cast(const Side& side, DType from, const Bytes& content, DType to, std::int64_t shift) {
  const auto count = static_cast<std::int64_t>(content.size()) / byte_size(from);
  const Array x(side, content, shift);
  const Array result(side, count * byte_size(to));
  side.backend.elementwise.cast(from, x.data(), to, result.data(), count, side.queue);
  return result.bytes();
}

}  // namespace

TEST_CASE("casts have the bits of the CPU at every size and alignment") {
  if (!has_device()) return;
  for (const DType from : kAll)
    for (const DType to : kAll)
      for (const std::int64_t count : {0, 1, 5, 16, 33, 1000})
        for (const std::int64_t shift : {std::int64_t{0}, byte_size(from)}) {
          INFO(name(from) << " to " << name(to) << ", " << count);
          const Bytes x = elements(from, count, 5);
          CHECK(same_bits([&](const Side& side) { return cast(side, from, x, to, shift); }));
        }
}

TEST_CASE("every 16-bit float is converted as on the CPU") {
  if (!has_device()) return;
  std::vector<std::uint16_t> all;
  for (const DType from : {DType::bfloat16, DType::float16}) {
    const std::uint16_t infinity = from == DType::float16 ? 0x7c00 : 0x7f80;
    all.clear();
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits)  // the payload of a NaN may differ
      if ((bits & 0x7fffU) <= infinity) all.push_back(static_cast<std::uint16_t>(bits));
    for (const DType to : kAll)
      CHECK(same_bits([&](const Side& side) { return cast(side, from, bytes_of(all), to, 0); }));
  }
}

TEST_CASE("numbers of every size and in the middle of two are rounded as on the CPU") {
  if (!has_device()) return;
  std::mt19937_64 engine(3);
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t mask = ~std::uint64_t{0} << (engine() % 53);  // few digits: ties
    const std::uint64_t bits = engine() & mask;
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isnan(value)) value = INFINITY;
    if (i % 2 == 0) value = std::ldexp(std::fmod(value, 2), static_cast<int>(engine() % 40) - 20);
    floats.push_back(value);
    integers.push_back(static_cast<std::int64_t>(engine() >> (engine() % 64)));
  }
  for (const DType to : kAll) {
    CHECK(same_bits(
        [&](const Side& side) { return cast(side, DType::float64, bytes_of(floats), to, 0); }));
    CHECK(same_bits(
        [&](const Side& side) { return cast(side, DType::int64, bytes_of(integers), to, 0); }));
    CHECK(same_bits([&](const Side& side) {
      return cast(side, DType::float32, converted(floats, DType::float32), to, 0);
    }));
  }
}

TEST_CASE("a fill has the bits of the CPU") {
  if (!has_device()) return;
  for (const DType dtype : kAll)
    for (const double value : {0.0, 1.5, -3.0, 300.0, 1e30, static_cast<double>(NAN)})
      for (const std::int64_t shift : {std::int64_t{0}, byte_size(dtype)})
        CHECK(same_bits([&](const Side& side) {
          const Array x(side, 101 * byte_size(dtype), shift);
          side.backend.elementwise.fill(dtype, value, x.data(), 101, side.queue);
          return x.bytes();
        }));
}

TEST_CASE("folds have the bits of the CPU, also of more sources than one launch takes") {
  if (!has_device()) return;
  for (const DType dtype : kAll)
    for (const int sources : {1, 2, 3, 64, 65, 200}) {
      const bool half = byte_size(dtype) == 2;
      if (half && sources > 64) continue;
      const std::int64_t count = 1001;
      for (int operation = 0; operation < (byte_size(dtype) >= 4 ? 3 : 1); ++operation)
        CHECK(same_bits([&](const Side& side) {
          std::vector<std::unique_ptr<Array>> arrays;
          std::vector<const void*> pointers;
          for (int i = 0; i < sources; ++i) {
            arrays.push_back(std::make_unique<Array>(
                side, elements(dtype, count, static_cast<unsigned>(i + 1))));
            pointers.push_back(arrays.back()->data());
          }
          const Array& result = *arrays.front();  // may be a source
          Elementwise& elementwise = side.backend.elementwise;
          if (operation == 0)
            elementwise.fold_sum(dtype, pointers.data(), sources, result.data(), count, side.queue);
          else
            elementwise.fold_extreme(dtype, operation == 1, pointers.data(), sources, result.data(),
                                     count, side.queue);
          return result.bytes();
        }));
    }
}
