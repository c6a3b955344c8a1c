// Both matrix libraries against three loops.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "backend/cpu/gemm_libraries.hpp"
#include "backend_support.hpp"

using namespace backend_test;

namespace {

template <class T>
constexpr DType kDType = sizeof(T) == 4 ? DType::float32 : DType::float64;

std::vector<Gemm*> libraries() {
  std::vector<Gemm*> result = {&cpu::eigen_gemm()};
  if (cpu::blas_gemm() != nullptr) result.push_back(cpu::blas_gemm());
  return result;
}

template <class T>
std::vector<T> expected_product(const GemmShape& s, const std::vector<T>& a,
                                const std::vector<T>& b, double beta, const std::vector<T>& c) {
  std::vector<T> result(c.size());
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = beta == 0 ? 0 : beta * c[static_cast<std::size_t>(i * s.n + j)];
      for (std::int64_t l = 0; l < s.k; ++l)
        sum += static_cast<double>(
                   a[static_cast<std::size_t>(s.transpose_a ? l * s.m + i : i * s.k + l)]) *
               b[static_cast<std::size_t>(s.transpose_b ? j * s.k + l : l * s.n + j)];
      result[static_cast<std::size_t>(i * s.n + j)] = static_cast<T>(sum);
    }
  return result;
}

template <class T>
bool close(const std::vector<T>& found, const std::vector<T>& expected, std::int64_t k) {
  const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-14) * static_cast<double>(k + 10);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::fabs(found[i] - expected[i]) <= tolerance)) return false;
  return true;
}

template <class T>
bool right_product(Gemm& gemm, const GemmShape& shape, double beta) {
  const auto a = random_values<T>(shape.m * shape.k, 1);
  const auto b = random_values<T>(shape.k * shape.n, 2);
  auto c = random_values<T>(shape.m * shape.n, 3);
  const auto expected = expected_product(shape, a, b, beta, c);
  if (beta == 0) c.assign(c.size(), static_cast<T>(NAN));
  gemm.multiply(kDType<T>, shape, a.data(), b.data(), beta, c.data(), kQueue);
  return close(c, expected, shape.k);
}

constexpr std::int64_t kSizes[][3] = {
    {1, 1, 1},    {1, 7, 5}, {7, 1, 5}, {7, 5, 1}, {3, 4, 5}, {17, 9, 33},   {32, 10, 512},
    {65, 66, 67}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}, {1, 300, 200}, {129, 257, 300}};

}  // namespace

TEMPLATE_TEST_CASE("products of any sizes and orders agree with three loops", "", float, double) {
  for (Gemm* gemm : libraries())
    for_each_variant([&](const char* variant) {
      for (const auto& size : kSizes)
        for (const bool transpose_a : {false, true})
          for (const bool transpose_b : {false, true})
            for (const double beta : {0.0, 1.0, -0.5}) {
              INFO(variant << " m n k " << size[0] << ' ' << size[1] << ' ' << size[2] << " beta "
                           << beta << " transposed " << transpose_a << transpose_b);
              CHECK(right_product<TestType>(
                  *gemm, {transpose_a, transpose_b, size[0], size[1], size[2]}, beta));
            }
    });
}

TEMPLATE_TEST_CASE("linear adds the bias to every row, or none", "", float, double) {
  for (Gemm* gemm : libraries())
    for (const std::int64_t rows : {0, 1, 2, 33})
      for (const std::int64_t in : {0, 1, 31, 100})
        for (const std::int64_t out : {0, 1, 10, 65}) {
          const auto x = random_values<TestType>(rows * in, 1);
          const auto weight = random_values<TestType>(out * in, 2);
          const auto bias = random_values<TestType>(out, 3);
          const auto size = static_cast<std::size_t>(rows * out);
          const GemmShape shape{false, true, rows, out, in};
          std::vector<TestType> rows_of_bias(size);
          for (std::size_t i = 0; i < size; ++i)
            rows_of_bias[i] = bias[i % static_cast<std::size_t>(out)];
          for (const bool biased : {false, true}) {
            std::vector<TestType> y(size, static_cast<TestType>(NAN));
            gemm->linear(kDType<TestType>, rows, in, out, x.data(), weight.data(),
                         biased ? bias.data() : nullptr, y.data(), kQueue);
            CHECK(close(y, expected_product(shape, x, weight, biased ? 1 : 0, rows_of_bias), in));
          }
        }
}

TEST_CASE("the backend names its matrix library") {
  const std::string name = cpu_gemm_library();
  CHECK((name == "eigen") == (cpu::blas_gemm() == nullptr));
  CHECK((name == "openblas" || name == "mkl" || name == "blas" || name == "eigen"));
}
