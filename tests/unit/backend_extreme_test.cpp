// Extremes along the middle axis against a search by index.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include <lockstep/core/error.hpp>
#include "backend_support.hpp"

using namespace backend_test;

namespace {

/// Few different values, so that many are equal, and NaN among those of floating point.
template <class T>
std::vector<T> few_values(std::int64_t count) {
  std::mt19937_64 engine(5);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    value = static_cast<T>(static_cast<int>(engine() % 9) - 4);
    if (std::is_floating_point_v<T> && engine() % 40 == 0)
      value = std::numeric_limits<T>::quiet_NaN();
  }
  return values;
}

/// The index of the first NaN, else of the first extreme, of extent elements `inner` apart.
template <class T>
std::int64_t expected_index(bool maximum, const T* x, const Extents& size) {
  std::optional<std::int64_t> best;
  for (std::int64_t i = 0; i < size.extent; ++i) {
    const T value = x[i * size.inner];
    if (value != value) return i;
    if (!best || (maximum ? value > x[*best * size.inner] : value < x[*best * size.inner]))
      best = i;
  }
  return *best;
}

template <class T>
bool right_extremes(bool maximum, const Extents& size) {
  const auto x = few_values<T>(size.outer * size.extent * size.inner);
  const auto count = static_cast<std::size_t>(size.outer * size.inner);
  std::vector<T> values(count);
  std::vector<std::int64_t> indexes(count, -1);
  std::vector<T> values_alone(count);
  std::vector<std::int64_t> indexes_alone(count, -1);
  Reduction& reduction = cpu_backend().reduction;
  const DType dtype = dtype_of<T>;
  reduction.extreme(dtype, maximum, x.data(), size, values.data(), indexes.data(), kQueue);
  reduction.extreme(dtype, maximum, x.data(), size, values_alone.data(), nullptr, kQueue);
  reduction.extreme(dtype, maximum, x.data(), size, nullptr, indexes_alone.data(), kQueue);
  bool right = same_bits(values, values_alone) && indexes == indexes_alone;
  for (std::int64_t o = 0; o < size.outer; ++o)
    for (std::int64_t i = 0; i < size.inner; ++i) {
      const T* first = x.data() + o * size.extent * size.inner + i;
      const auto place = static_cast<std::size_t>(o * size.inner + i);
      const std::int64_t index = expected_index(maximum, first, size);
      right = right && indexes[place] == index &&
              std::memcmp(&values[place], first + index * size.inner, sizeof(T)) == 0;
    }
  return right;
}

}  // namespace

TEMPLATE_TEST_CASE("extremes are the first of equals, and a NaN wins, along any axis", "", float,
                   double, std::int64_t, std::int32_t) {
  for (const int threads : {1, 3}) {
    set_cpu_thread_count(threads);
    for (const std::int64_t outer : {0, 1, 2, 5})
      for (const std::int64_t extent : {1, 3, 100})
        for (const std::int64_t inner : {0, 1, 2, 255, 300})
          for (const bool maximum : {false, true}) {
            INFO(outer << " x " << extent << " x " << inner << " maximum " << maximum);
            CHECK(right_extremes<TestType>(maximum, {outer, extent, inner}));
          }
    CHECK(right_extremes<TestType>(true, {500, 1000, 1}));
    CHECK(right_extremes<TestType>(false, {3, 60, 1000}));
  }
  set_cpu_thread_count(1);
}

TEST_CASE("the largest of -infinities is the first") {
  const std::vector<float> x(6, -INFINITY);
  std::vector<std::int64_t> indexes(2, -1);
  for (const Extents& size : {Extents{2, 3, 1}, Extents{1, 3, 2}}) {
    cpu_backend().reduction.extreme(DType::float32, true, x.data(), size, nullptr, indexes.data(),
                                    kQueue);
    CHECK(indexes == std::vector<std::int64_t>{0, 0});
  }
}

TEST_CASE("a gradient is spread over the indexes, with zeros around it") {
  const std::vector<double> gradient = {1, 2, 3, 4};
  const std::vector<std::int64_t> indexes = {2, 0, 1, 1};
  std::vector<double> result(12, NAN);
  cpu_backend().reduction.extreme_backward(DType::float64, gradient.data(), indexes.data(),
                                           {2, 3, 2}, result.data(), kQueue);
  CHECK(result == std::vector<double>{0, 2, 0, 0, 1, 0, 0, 0, 3, 4, 0, 0});
}

TEST_CASE("extremes of other dtypes, and over nothing, are refused") {
  const std::vector<std::uint8_t> x(6);
  std::vector<std::int64_t> indexes(2);
  Reduction& reduction = cpu_backend().reduction;
  CHECK_THROWS_AS(
      reduction.extreme(DType::uint8, true, x.data(), {2, 3}, nullptr, indexes.data(), kQueue),
      InvalidUsage);
  CHECK_THROWS_AS(
      reduction.extreme(DType::float32, true, nullptr, {2, 0}, nullptr, indexes.data(), kQueue),
      InvalidUsage);
}
