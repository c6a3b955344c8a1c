#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <lockstep/core/error.hpp>
#include "backend_support.hpp"

using namespace backend_test;

namespace {

const double kNaN = std::nan("");

Broadcast broadcast(std::initializer_list<std::int64_t> sizes,
                    std::initializer_list<std::int64_t> a, std::initializer_list<std::int64_t> b) {
  Broadcast result;
  result.axes = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), result.sizes.begin());
  std::copy(a.begin(), a.end(), result.a_strides.begin());
  std::copy(b.begin(), b.end(), result.b_strides.begin());
  return result;
}

std::vector<double> binary(BinaryOperation operation, const Broadcast& shape,
                           const std::vector<double>& a, const std::vector<double>& b,
                           std::size_t count) {
  std::vector<double> result(count, kNaN);
  cpu_backend().elementwise.binary(operation, DType::float64, shape, a.data(), b.data(),
                                   result.data(), kQueue);
  return result;
}

template <class T>
std::vector<T> fold(DType dtype, const std::vector<std::vector<T>>& sources) {
  std::vector<const void*> pointers;
  for (const auto& source : sources) pointers.push_back(source.data());
  std::vector<T> result(sources[0].size());
  cpu_backend().elementwise.fold_sum(dtype, pointers.data(), static_cast<int>(pointers.size()),
                                     result.data(), static_cast<std::int64_t>(result.size()),
                                     kQueue);
  return result;
}

}  // namespace

TEST_CASE("binary operations repeat operands along axes of stride 0") {
  const std::vector<double> matrix = {1, 2, 3, 4, 5, 6};
  const std::vector<double> row = {10, 20, 30};
  const std::vector<double> column = {100, 200};
  using enum BinaryOperation;
  CHECK(binary(add, broadcast({6}, {1}, {1}), matrix, matrix, 6) ==
        std::vector<double>{2, 4, 6, 8, 10, 12});
  CHECK(binary(add, broadcast({2, 3}, {3, 1}, {0, 1}), matrix, row, 6) ==
        std::vector<double>{11, 22, 33, 14, 25, 36});
  CHECK(binary(sub, broadcast({2, 3}, {1, 0}, {3, 1}), column, matrix, 6) ==
        std::vector<double>{99, 98, 97, 196, 195, 194});
  CHECK(binary(mul, broadcast({2, 3}, {0, 1}, {1, 0}), row, column, 6) ==
        std::vector<double>{1000, 2000, 3000, 2000, 4000, 6000});
  CHECK(binary(mul, broadcast({}, {}, {}), {3}, {4}, 1) == std::vector<double>{12});
  CHECK(binary(sub, broadcast({3}, {0}, {0}), {3}, {4}, 3) == std::vector<double>{-1, -1, -1});
  CHECK(binary(div, broadcast({2, 3}, {3, 1}, {1, 0}), matrix, column, 6) ==
        std::vector<double>{0.01, 0.02, 0.03, 0.02, 0.025, 0.03});
}

TEST_CASE("binary operations walk through three axes, in order") {
  std::vector<double> a(6);
  std::vector<double> b(4);
  for (std::size_t i = 0; i < 6; ++i) a[i] = static_cast<double>(i);
  for (std::size_t i = 0; i < 4; ++i) b[i] = static_cast<double>(10 * i);
  // (2, 3, 1) + (2, 1, 2)
  const auto result =
      binary(BinaryOperation::add, broadcast({2, 3, 2}, {3, 1, 0}, {2, 0, 1}), a, b, 12);
  CHECK(result == std::vector<double>{0, 10, 1, 11, 2, 12, 23, 33, 24, 34, 25, 35});
  // The same with the operands exchanged.
  const auto exchanged =
      binary(BinaryOperation::add, broadcast({2, 3, 2}, {2, 0, 1}, {3, 1, 0}), b, a, 12);
  CHECK(exchanged == result);
}

TEST_CASE("an axis of size 0 makes an empty result, which is not touched") {
  const auto result = binary(BinaryOperation::add, broadcast({2, 0}, {0, 1}, {0, 1}), {1}, {1}, 1);
  CHECK(std::isnan(result[0]));
  const auto other = binary(BinaryOperation::add, broadcast({0, 2}, {2, 1}, {2, 1}), {1}, {1}, 1);
  CHECK(std::isnan(other[0]));
}

TEST_CASE("an operand may be the result") {
  std::vector<float> x = random_values<float>(1001, 1);
  const std::vector<float> before = x;
  Elementwise& elementwise = cpu_backend().elementwise;
  elementwise.binary(BinaryOperation::add, DType::float32, broadcast({1001}, {1}, {1}), x.data(),
                     x.data(), x.data(), kQueue);
  elementwise.affine(DType::float32, x.data(), 0.5, 0, x.data(), 1001, kQueue);
  CHECK(x == before);
}

TEST_CASE("affine, add_scaled, scale and scaled_difference do what their formulas say") {
  Elementwise& elementwise = cpu_backend().elementwise;
  const std::vector<float> x = {1, 2, -3};
  std::vector<float> y(3);
  elementwise.affine(DType::float32, x.data(), 2, 1, y.data(), 3, kQueue);
  CHECK(y == std::vector<float>{3, 5, -5});
  elementwise.add_scaled(DType::float32, -1, x.data(), y.data(), 3, kQueue);
  CHECK(y == std::vector<float>{2, 3, -2});
  elementwise.scale(DType::float32, 0.5, y.data(), 3, kQueue);
  CHECK(y == std::vector<float>{1, 1.5, -1});
  elementwise.scaled_difference(DType::float32, x.data(), y.data(), 2, y.data(), 3, kQueue);
  CHECK(y == std::vector<float>{0, 1, -4});
}

TEST_CASE("relu passes positive values and NaN, and its gradient follows") {
  Elementwise& elementwise = cpu_backend().elementwise;
  const std::vector<double> x = {-1, 0, 2, kNaN, -0.0, INFINITY, -INFINITY};
  std::vector<double> y(7);
  elementwise.unary(UnaryOperation::relu, DType::float64, x.data(), {}, y.data(), 7, kQueue);
  CHECK(y[0] == 0);
  CHECK(y[2] == 2);
  CHECK(std::isnan(y[3]));
  CHECK(y[5] == INFINITY);
  CHECK(y[6] == 0);
  const std::vector<double> gradient = {1, 2, 3, 4, 5, 6, 7};
  std::vector<double> result(7);
  elementwise.unary_backward(UnaryOperation::relu, DType::float64, y.data(), gradient.data(), {},
                             result.data(), 7, kQueue);
  CHECK(result == std::vector<double>{0, 0, 3, 4, 0, 6, 0});
}

TEST_CASE("relu's gradient does not let through a gradient that is NaN where it is closed") {
  const float y[] = {0, 1};
  const float gradient[] = {NAN, NAN};
  float result[2];
  cpu_backend().elementwise.unary_backward(UnaryOperation::relu, DType::float32, y, gradient, {},
                                           result, 2, kQueue);
  CHECK(result[0] == 0);
  CHECK(std::isnan(result[1]));
}

TEST_CASE("fill writes every dtype, and nothing behind it") {
  for (int index = 0; index < 7; ++index) {
    const auto dtype = static_cast<DType>(index);
    const auto bytes = static_cast<std::size_t>(5 * byte_size(dtype));
    std::vector<double> back(5);
    std::vector<unsigned char> memory(bytes + 8, 0xee);
    cpu_backend().elementwise.fill(dtype, 3, memory.data(), 5, kQueue);
    cpu_backend().elementwise.cast(dtype, memory.data(), DType::float64, back.data(), 5, kQueue);
    CHECK(back == std::vector<double>(5, 3.0));
    CHECK(std::count(memory.begin() + static_cast<std::ptrdiff_t>(bytes), memory.end(), 0xee) == 8);
  }
}

TEST_CASE("a fold adds in the order of its sources") {
  using Rows = std::vector<std::vector<double>>;
  CHECK(fold<double>(DType::float64, Rows{{1e300}, {-1e300}, {1}}) == std::vector<double>{1});
  CHECK(fold<double>(DType::float64, Rows{{1e300}, {1}, {-1e300}}) == std::vector<double>{0});
  CHECK(fold<double>(DType::float64, Rows{{5}}) == std::vector<double>{5});
}

TEST_CASE("a fold of 16-bit types is added in float32 and rounded once") {
  // 2048 + 1 + 1 in float16: one by one every 1 is lost.
  using Rows = std::vector<std::vector<std::uint16_t>>;
  CHECK(fold<std::uint16_t>(DType::float16, Rows{{0x6800}, {0x3c00}, {0x3c00}}) ==
        std::vector<std::uint16_t>{0x6801});
  // 2^15 + 2^-10 - 2^15: float32 loses the small one, float64 would not.
  CHECK(fold<std::uint16_t>(DType::float16, Rows{{0x7800}, {0x1400}, {0xf800}}) ==
        std::vector<std::uint16_t>{0});
  // 256 + 1 + 1 in bfloat16.
  CHECK(fold<std::uint16_t>(DType::bfloat16, Rows{{0x4380}, {0x3f80}, {0x3f80}}) ==
        std::vector<std::uint16_t>{0x4381});
}

TEST_CASE("a fold of integers wraps") {
  CHECK(fold<std::int32_t>(DType::int32, {{INT32_MAX}, {1}}) ==
        std::vector<std::int32_t>{INT32_MIN});
  CHECK(fold<std::int64_t>(DType::int64, {{INT64_MAX}, {1}}) ==
        std::vector<std::int64_t>{INT64_MIN});
  CHECK(fold<std::uint8_t>(DType::uint8, {{255}, {3}}) == std::vector<std::uint8_t>{2});
}

TEST_CASE("the result of a fold may be any of its sources") {
  for (int place = 0; place < 3; ++place) {
    std::vector<std::vector<float>> sources(3);
    for (unsigned i = 0; i < 3; ++i) sources[i] = random_values<float>(1300, i);
    const auto expected = fold<float>(DType::float32, sources);
    const void* pointers[] = {sources[0].data(), sources[1].data(), sources[2].data()};
    auto& target = sources[static_cast<std::size_t>(place)];
    cpu_backend().elementwise.fold_sum(DType::float32, pointers, 3, target.data(), 1300, kQueue);
    CHECK(same_bits(target, expected));
  }
}

TEST_CASE("in a fold of extremes a NaN wins, from whatever source") {
  const std::vector<float> a = {1, NAN, 3, -1};
  const std::vector<float> b = {2, 5, NAN, -2};
  const void* sources[] = {a.data(), b.data()};
  for_each_variant([&](const char*) {
    std::vector<float> result(4);
    cpu_backend().elementwise.fold_extreme(DType::float32, true, sources, 2, result.data(), 4,
                                           kQueue);
    CHECK(result[0] == 2);
    CHECK(std::isnan(result[1]));
    CHECK(std::isnan(result[2]));
    CHECK(result[3] == -1);
    cpu_backend().elementwise.fold_extreme(DType::float32, false, sources, 2, result.data(), 4,
                                           kQueue);
    CHECK(result[0] == 1);
    CHECK(std::isnan(result[1]));
    CHECK(std::isnan(result[2]));
    CHECK(result[3] == -2);
  });
}

TEST_CASE("in a fold of extremes negative integers are below positive ones") {
  const auto check = [](auto type, DType dtype) {
    using T = decltype(type);
    const std::vector<T> a = {-1, 2, -5, std::numeric_limits<T>::min()};
    const std::vector<T> b = {1, -2, -3, std::numeric_limits<T>::max()};
    const void* sources[] = {a.data(), b.data()};
    for_each_variant([&](const char*) {
      std::vector<T> result(4);
      cpu_backend().elementwise.fold_extreme(dtype, true, sources, 2, result.data(), 4, kQueue);
      CHECK(result == std::vector<T>{1, 2, -3, std::numeric_limits<T>::max()});
      cpu_backend().elementwise.fold_extreme(dtype, false, sources, 2, result.data(), 4, kQueue);
      CHECK(result == std::vector<T>{-1, -2, -5, std::numeric_limits<T>::min()});
    });
  };
  check(std::int64_t{}, DType::int64);
  check(std::int32_t{}, DType::int32);
}

TEST_CASE("dtypes that an operation does not compute in are named") {
  std::int32_t x = 1;
  const void* sources[] = {&x};
  Elementwise& elementwise = cpu_backend().elementwise;
  CHECK_THROWS_WITH(elementwise.unary(UnaryOperation::relu, DType::int32, &x, {}, &x, 1, kQueue),
                    Catch::Matchers::Contains("relu") && Catch::Matchers::Contains("int32"));
  CHECK_THROWS_AS(elementwise.fold_extreme(DType::uint8, true, sources, 1, &x, 1, kQueue),
                  InvalidUsage);
  CHECK_THROWS_AS(elementwise.fold_sum(DType::int32, sources, 0, &x, 1, kQueue), InvalidUsage);
}
