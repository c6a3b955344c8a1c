// Casts and folds: the same bits from every dtype.
#include <limits>
#include <memory>

#include <lockstep/core/error.hpp>
#include "parity/on_both.hpp"

using namespace parity;

namespace {

/// Every kind of bits, and for the wide floats numbers that the narrower types hold too.
template <class T>
std::vector<T> any_values(std::int64_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    const std::uint64_t bits = engine();
    std::memcpy(&value, &bits, sizeof(T));
    if constexpr (std::is_floating_point_v<T>)
      if (engine() % 2 == 0)
        value = static_cast<T>(std::ldexp(static_cast<double>(bits % 4096) - 2048.0,
                                          static_cast<int>(engine() % 60) - 30));
  }
  return values;
}

bool casts_agree(DType from, DType to) {
  bool right = true;
  with_storage(from, [&]<class From>(From) {
    with_storage(to, [&]<class To>(To) {
      for (const std::int64_t count : {0, 1, 7, 16, 257, 4099})
        for (const bool odd : {false, true})
          right =
              right && same(on_both([&](const Side& side) {
                const auto x = side.array(any_values<From>(count, 11), odd);
                const auto result = side.array(std::vector<To>(static_cast<std::size_t>(count)));
                side.backend.elementwise.cast(from, x.data(), to, result.data(), count, side.queue);
                return result.values();
              }));
    });
  });
  return right;
}

/// A sum of two NaN may have the payload of either: all NaN of a 16-bit float become one.
template <class T>
std::vector<T> with_one_nan(DType dtype, std::vector<T> values) {
  const std::uint16_t infinity = dtype == DType::bfloat16 ? 0x7f80 : 0x7c00;
  if constexpr (sizeof(T) == 2)
    for (T& value : values)
      if ((value & 0x7fff) > infinity) value = 0x7fff;
  return values;
}

enum class Kind { sum, minimum, maximum };

/// The fold of so many sources, of which one is the result too.
template <class T>
auto folded(Kind kind, DType dtype, int source_count, std::int64_t count, bool odd, int into = 0) {
  return on_both([&](const Side& side) {
    std::vector<std::unique_ptr<Array<T>>> sources;
    std::vector<const void*> pointers;
    for (int i = 0; i < source_count; ++i) {
      sources.push_back(std::make_unique<Array<T>>(
          side, any_values<T>(count, 20 + static_cast<unsigned>(i)), odd));
      pointers.push_back(sources.back()->data());
    }
    Elementwise& elementwise = side.backend.elementwise;
    Array<T>& target = *sources[static_cast<std::size_t>(into)];
    void* result = target.data();
    if (kind == Kind::sum)
      elementwise.fold_sum(dtype, pointers.data(), source_count, result, count, side.queue);
    else
      elementwise.fold_extreme(dtype, kind == Kind::maximum, pointers.data(), source_count, result,
                               count, side.queue);
    return with_one_nan(dtype, target.values());
  });
}

}  // namespace

TEST_CASE("a cast between any two dtypes has the same bits on CUDA") {
  if (no_device()) return;
  for (const DType from : kAllDTypes)
    for (const DType to : kAllDTypes) {
      INFO(name(from) << " to " << name(to));
      CHECK(casts_agree(from, to));
    }
}

TEST_CASE("a sum of several sources has the same bits on CUDA in every dtype") {
  if (no_device()) return;
  for (const DType dtype : kAllDTypes)
    for (const int source_count : {1, 2, 3, 16})
      for (const std::int64_t count : {0, 1, 7, 257, 1025})
        with_storage(dtype, [&]<class T>(T) {
          INFO(name(dtype) << ", sources " << source_count << ", count " << count);
          CHECK(same(folded<T>(Kind::sum, dtype, source_count, count, count % 2 == 1)));
        });
}

TEST_CASE("many sources are added in order on CUDA too, into any of them") {
  if (no_device()) return;
  for (const DType dtype : kAllDTypes)
    for (const int source_count : {64, 65, 150})
      with_storage(dtype, [&]<class T>(T) {
        INFO(name(dtype) << ", sources " << source_count);
        CHECK(same(folded<T>(Kind::sum, dtype, source_count, 301, false, source_count - 1)));
        if (dtype == DType::float32 || dtype == DType::int64)
          CHECK(same(folded<T>(Kind::maximum, dtype, source_count, 301, true, source_count - 1)));
      });
}

TEST_CASE("minimum and maximum have the same bits on CUDA, and NaN wins") {
  if (no_device()) return;
  for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::int32})
    for (const Kind kind : {Kind::minimum, Kind::maximum})
      for (const int source_count : {1, 2, 5})
        with_storage(dtype, [&]<class T>(T) {
          INFO(name(dtype) << ", sources " << source_count);
          CHECK(same(folded<T>(kind, dtype, source_count, 1025, source_count == 2)));
        });
}
