// Elementwise operations have the bits of the CPU, with and without 16-byte alignment.
#include "sides.hpp"

using namespace parity;

namespace {

/// Each dtype, size and alignment: body(dtype, count, shift in bytes).
template <class Body>
void for_each_case(const Body& body) {
  if (!has_device()) return;
  for (const DType dtype : kFloats)
    for (const std::int64_t count : kSizes)
      for (const std::int64_t shift : {std::int64_t{0}, byte_size(dtype)}) {
        INFO(name(dtype) << ", " << count << " elements, shifted by " << shift);
        body(dtype, count, shift);
      }
}

}  // namespace

TEST_CASE("arithmetic with numbers has the bits of the CPU") {
  for_each_case([](DType dtype, std::int64_t count, std::int64_t shift) {
    CHECK(same_bits([&](const Side& side) {
      const Array x(side, elements(dtype, count, 1), shift);
      const Array y(side, elements(dtype, count, 2));
      const Array z(side, elements(dtype, count, 3), shift);
      Elementwise& elementwise = side.backend.elementwise;
      elementwise.affine(dtype, x.data(), 1.7, 0.3, x.data(), count, side.queue);
      elementwise.add_scaled(dtype, 0.3, x.data(), y.data(), count, side.queue);
      elementwise.scale(dtype, 1.0 / 3, y.data(), count, side.queue);
      elementwise.scaled_difference(dtype, y.data(), x.data(), 0.1, z.data(), count, side.queue);
      return z.bytes();
    }));
  });
}

TEST_CASE("activations have the bits of the CPU, zeros and NaN included") {
  for_each_case([](DType dtype, std::int64_t count, std::int64_t shift) {
    std::vector<double> odd(static_cast<std::size_t>(count), -0.0);
    for (std::size_t i = 0; i < odd.size(); ++i)
      if (i % 3 != 0) odd[i] = std::fmod(0.37 * static_cast<double>(i), 20) - 10;
    if (count > 4) odd[4] = NAN;
    CHECK(same_bits([&](const Side& side) {
      const Array x(side, converted(odd, dtype), shift);
      const Array gradient(side, elements(dtype, count, 2));
      const Array y(side, count * byte_size(dtype), shift);
      Elementwise& elementwise = side.backend.elementwise;
      Bytes all;
      const auto keep = [&] {
        const Bytes more = y.bytes();
        all.insert(all.end(), more.begin(), more.end());
      };
      elementwise.relu(dtype, x.data(), y.data(), count, side.queue);
      keep();
      elementwise.relu_backward(dtype, x.data(), gradient.data(), y.data(), count, side.queue);
      keep();
      if (count > 4) {  // what is NaN here need not have the same bits
        const double number = 3;
        const Bytes three = converted({number}, dtype);
        side.backend.memory.copy_from_host(x.as<unsigned char>() + 4 * byte_size(dtype),
                                           three.data(), byte_size(dtype), side.queue);
      }
      elementwise.gelu_tanh(dtype, x.data(), y.data(), count, side.queue);
      keep();
      elementwise.gelu_tanh_backward(dtype, x.data(), gradient.data(), y.data(), count, side.queue);
      keep();
      return all;
    }));
  });
}

TEST_CASE("binary operations have the bits of the CPU for any broadcast") {
  if (!has_device()) return;
  std::mt19937 engine(7);
  for (int trial = 0; trial < 200; ++trial) {
    const DType dtype = kFloats[trial % 2];
    Broadcast broadcast;
    broadcast.axes = trial % 5;
    std::int64_t count = 1;
    std::int64_t a_count = 1;
    std::int64_t b_count = 1;
    for (int axis = broadcast.axes - 1; axis >= 0; --axis) {
      const std::int64_t size = engine() % 4 == 0 ? 8 : engine() % 7;
      broadcast.sizes[axis] = size;
      count *= size;
      broadcast.a_strides[axis] = engine() % 3 != 0 ? a_count : 0;
      broadcast.b_strides[axis] = engine() % 3 != 0 ? b_count : 0;
      if (broadcast.a_strides[axis] != 0) a_count *= size;
      if (broadcast.b_strides[axis] != 0) b_count *= size;
    }
    const std::int64_t shift = engine() % 4 == 0 ? byte_size(dtype) : 0;
    for (int operation = 0; operation < 3; ++operation) {
      INFO("trial " << trial);
      CHECK(same_bits([&](const Side& side) {
        const Array a(side, elements(dtype, a_count, 1), shift);
        const Array b(side, elements(dtype, b_count, 2));
        const Array result(side, count * byte_size(dtype));
        side.backend.elementwise.binary(static_cast<BinaryOperation>(operation), dtype, broadcast,
                                        a.data(), b.data(), result.data(), side.queue);
        return result.bytes();
      }));
    }
  }
}
