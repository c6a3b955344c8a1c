#include <catch2/catch.hpp>
#include <cmath>

#include <lockstep/core/error.hpp>
#include "backend_support.hpp"

using namespace backend_test;

namespace {

template <class T>
constexpr DType kDType = sizeof(T) == 4 ? DType::float32 : DType::float64;

template <class T>
struct Result {
  T loss;
  T divisor;
  std::vector<T> softmax;
  std::vector<T> gradient;
};

template <class T>
Result<T> cross_entropy(const CrossEntropyShape& shape, const std::vector<T>& logits,
                        const std::vector<std::int64_t>& labels, T incoming = 1) {
  Result<T> result{-1, -1, std::vector<T>(logits.size(), -1), std::vector<T>(logits.size(), -1)};
  Loss& loss = cpu_backend().loss;
  loss.cross_entropy(kDType<T>, shape, logits.data(), labels.data(), &result.loss,
                     result.softmax.data(), &result.divisor, kQueue);
  loss.cross_entropy_backward(kDType<T>, shape, result.softmax.data(), labels.data(), &incoming,
                              &result.divisor, result.gradient.data(), kQueue);
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("cross-entropy agrees with its formula in long double", "", float, double) {
  const double tolerance = sizeof(TestType) == 4 ? 1e-6 : 1e-14;
  for (const std::int64_t classes : {1, 2, 10, 16, 33, 1000}) {
    const std::int64_t rows = 7;
    const auto logits = random_values<TestType>(rows * classes, 4, -5, 5);
    std::vector<std::int64_t> labels;
    for (std::int64_t row = 0; row < rows; ++row) labels.push_back(row * 3 % classes);
    const auto result = cross_entropy<TestType>({rows, classes}, logits, labels, 2);
    long double expected = 0;
    bool right = true;
    for (std::int64_t row = 0; row < rows; ++row) {
      long double sum = 0;
      const TestType* x = &logits[static_cast<std::size_t>(row * classes)];
      for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(static_cast<long double>(x[i]));
      expected += std::log(sum) - x[labels[static_cast<std::size_t>(row)]];
      for (std::int64_t i = 0; i < classes; ++i) {
        const auto place = static_cast<std::size_t>(row * classes + i);
        const auto probability =
            static_cast<double>(std::exp(static_cast<long double>(x[i])) / sum);
        const double hot = i == labels[static_cast<std::size_t>(row)] ? 1 : 0;
        right = right && std::fabs(result.softmax[place] - probability) <= tolerance;
        right =
            right && std::fabs(result.gradient[place] - (probability - hot) * 2 / 7) <= tolerance;
      }
    }
    CHECK(right);
    CHECK(result.divisor == 7);
    CHECK(result.loss ==
          Approx(static_cast<double>(expected / rows)).epsilon(tolerance).margin(tolerance));
  }
}

TEST_CASE("cross-entropy stays finite at logits of a thousand") {
  const std::vector<float> logits = {1000, -1000, 0, -1000, 1000, 0};
  const auto result = cross_entropy<float>({2, 3}, logits, {0, 0});
  CHECK(result.loss == 1000);
  CHECK(result.softmax == std::vector<float>{1, 0, 0, 0, 1, 0});
  CHECK(result.gradient == std::vector<float>{0, 0, 0, -0.5, 0.5, 0});
}

TEST_CASE("a sum is not divided") {
  CrossEntropyShape shape{2, 2};
  shape.mean = false;
  const auto result = cross_entropy<double>(shape, {0, 0, 0, 0}, {0, 1});
  CHECK(result.divisor == 1);
  CHECK(result.loss == Approx(2 * std::log(2.0)).epsilon(1e-15));
  CHECK(result.gradient == std::vector<double>{-0.5, 0.5, 0.5, -0.5});
}

TEST_CASE("rows that are ignored count nowhere, whatever their logits are") {
  const std::vector<double> logits = {0, 0, NAN, INFINITY, 0, 0};
  const auto result = cross_entropy<double>({3, 2}, logits, {0, -100, 0});
  CHECK(result.divisor == 2);
  CHECK(result.loss == Approx(std::log(2.0)).epsilon(1e-15));
  CHECK(result.gradient == std::vector<double>{-0.25, 0.25, 0, 0, -0.25, 0.25});
}

TEST_CASE("with every row ignored, or none there, the mean is NaN and the gradient exactly 0") {
  const auto result = cross_entropy<float>({2, 2}, {1, 2, 3, 4}, {-100, -100});
  CHECK(std::isnan(result.loss));
  CHECK(result.divisor == 0);
  CHECK(result.gradient == std::vector<float>(4, 0.0F));
  CHECK(std::isnan(cross_entropy<float>({0, 2}, {}, {}).loss));
  CrossEntropyShape sum{2, 2};
  sum.mean = false;
  CHECK(cross_entropy<float>(sum, {1, 2, 3, 4}, {-100, -100}).loss == 0);
}

TEST_CASE("any label may be the one that is ignored") {
  CrossEntropyShape shape{2, 2};
  shape.ignore_index = 1;
  const auto result = cross_entropy<double>(shape, {0, 0, 5, 5}, {0, 1});
  CHECK(result.divisor == 1);
}

TEST_CASE("a NaN among the logits of a row that counts reaches loss and softmax") {
  const auto result = cross_entropy<float>({1, 3}, {1, NAN, 2}, {0});
  CHECK(std::isnan(result.loss));
  CHECK(std::isnan(result.softmax[0]));
}

TEST_CASE("a class at minus infinity has probability 0, and costs infinity as the label") {
  const auto result = cross_entropy<float>({2, 2}, {0, -INFINITY, 0, -INFINITY}, {0, 1});
  CHECK(result.softmax == std::vector<float>{1, 0, 1, 0});
  CHECK(result.loss == INFINITY);
}

TEST_CASE("a label out of range names itself, its row and the number of classes") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_AS(cross_entropy<float>({2, 2}, {1, 2, 3, 4}, {0, 2}), InvalidUsage);
  CHECK_THROWS_WITH(cross_entropy<float>({2, 3}, {1, 2, 3, 4, 5, 6}, {0, 7}),
                    Contains("label 7") && Contains("row 1") && Contains("3 classes"));
  CHECK_THROWS_WITH(cross_entropy<float>({1, 2}, {1, 2}, {-1}), Contains("label -1"));
}
