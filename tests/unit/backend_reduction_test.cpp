#include <catch2/catch.hpp>
#include <cmath>

#include <lockstep/core/error.hpp>
#include "backend_support.hpp"

using namespace backend_test;

TEST_CASE("sums over the middle axis agree with long double, at any extents") {
  Reduction& reduction = cpu_backend().reduction;
  for (const std::int64_t outer : {1, 2, 5})
    for (const std::int64_t extent : {0, 1, 3, 100, 1000})
      for (const std::int64_t inner : {1, 2, 10, 255, 300}) {
        const auto x = random_values<float>(outer * extent * inner, 9);
        std::vector<float> result(static_cast<std::size_t>(outer * inner), NAN);
        reduction.sum(DType::float32, x.data(), outer, extent, inner, 0.5, false, result.data(),
                      kQueue);
        bool right = true;
        for (std::int64_t o = 0; o < outer; ++o)
          for (std::int64_t i = 0; i < inner; ++i) {
            long double sum = 0;
            for (std::int64_t e = 0; e < extent; ++e)
              sum += x[static_cast<std::size_t>((o * extent + e) * inner + i)];
            right = right && result[static_cast<std::size_t>(o * inner + i)] ==
                                 Approx(static_cast<double>(sum) / 2).epsilon(1e-6).margin(1e-12);
          }
        CHECK(right);
      }
}

TEST_CASE("a sum may be added to what is there") {
  const std::vector<double> x = {1, 2, 3, 4};
  double total = 100;
  cpu_backend().reduction.sum(DType::float64, x.data(), 1, 4, 1, 2, true, &total, kQueue);
  CHECK(total == 120);
  std::vector<double> columns = {10, 20};
  cpu_backend().reduction.sum(DType::float64, x.data(), 1, 2, 2, 1, true, columns.data(), kQueue);
  CHECK(columns == std::vector<double>{14, 26});
}

TEST_CASE("ten million float32 values are added up to the last place") {
  const std::int64_t count = 10'000'000;
  const std::vector<float> x(static_cast<std::size_t>(count), 0.1F);
  float sum = 0;
  cpu_backend().reduction.sum(DType::float32, x.data(), 1, count, 1, 1, false, &sum, kQueue);
  CHECK(sum == static_cast<float>(static_cast<double>(0.1F) * static_cast<double>(count)));
  float mean = 0;
  cpu_backend().reduction.sum(DType::float32, x.data(), 1, count, 1,
                              1.0 / static_cast<double>(count), false, &mean, kQueue);
  CHECK(mean == 0.1F);
}

TEST_CASE("a NaN or an infinity reaches the sum") {
  for (const std::int64_t place : {0, 17, 99}) {
    std::vector<float> x(100, 1);
    x[static_cast<std::size_t>(place)] = NAN;
    float sum = 0;
    cpu_backend().reduction.sum(DType::float32, x.data(), 1, 100, 1, 1, false, &sum, kQueue);
    CHECK(std::isnan(sum));
  }
}

TEST_CASE("sums of squares are added to a float64") {
  const std::vector<float> x = {3, 4, 1e30F};
  double sum = 5;
  cpu_backend().reduction.add_sum_of_squares(DType::float32, x.data(), 2, &sum, kQueue);
  CHECK(sum == 30);
  cpu_backend().reduction.add_sum_of_squares(DType::float32, &x[2], 1, &sum, kQueue);
  CHECK(sum == Approx(1e60));
  cpu_backend().reduction.add_sum_of_squares(DType::float32, nullptr, 0, &sum, kQueue);
  CHECK(sum == Approx(1e60));
}

TEST_CASE("squared differences are scaled; of nothing they are 0") {
  const std::vector<double> a = {1, 2, 3};
  const std::vector<double> b = {2, 4, 0};
  double result = NAN;
  cpu_backend().reduction.squared_difference(DType::float64, a.data(), b.data(), 3, 0.5, &result,
                                             kQueue);
  CHECK(result == 7);
  cpu_backend().reduction.squared_difference(DType::float64, a.data(), b.data(), 0, 0.5, &result,
                                             kQueue);
  CHECK(result == 0);
}
