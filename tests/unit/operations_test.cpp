// What operations refuse, and their behaviour at the edges.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("an error names both shapes") {
  const ls::Tensor a = ls::zeros({3, 5});
  CHECK_THROWS_AS(a + ls::zeros({4}), ls::ShapeError);
  CHECK_THROWS_WITH(a + ls::zeros({4}), Contains("(3, 5)") && Contains("(4)"));
  CHECK_THROWS_WITH(a * ls::zeros({3}), Contains("(3, 5)") && Contains("(3)"));
  CHECK_THROWS_WITH(ls::matmul(a, a), Contains("(3, 5)"));
  CHECK_THROWS_AS(ls::matmul(a, ls::zeros({5})), ls::ShapeError);
  CHECK_THROWS_WITH(ls::linear(a, ls::zeros({2, 4})), Contains("(3, 5)") && Contains("(2, 4)"));
  CHECK_THROWS_AS(ls::linear(a, ls::zeros({2, 5}), ls::zeros({3})), ls::ShapeError);
  CHECK_THROWS_AS(ls::linear(ls::zeros({}), ls::zeros({2, 5})), ls::ShapeError);
  CHECK_THROWS_WITH(ls::mse_loss(a, ls::zeros({5, 3})), Contains("(3, 5)") && Contains("(5, 3)"));
  CHECK_THROWS_AS(ls::mse_loss(a, ls::zeros({5})), ls::ShapeError);
}

TEST_CASE("operands of different dtypes are refused and named") {
  CHECK_THROWS_AS(ls::zeros({2}) + ls::zeros({2}, ls::DType::float64), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::zeros({2}) + ls::zeros({2}, ls::DType::float64),
                    Contains("float32") && Contains("float64"));
  CHECK_THROWS_AS(ls::relu(ls::zeros({2}, ls::DType::int64)), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::sum(ls::zeros({2}, ls::DType::uint8)), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::cross_entropy(ls::zeros({2, 3}), ls::zeros({2})), ls::InvalidUsage);
}

TEST_CASE("an undefined operand is refused") {
  CHECK_THROWS_AS(ls::relu(ls::Tensor{}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::zeros({2}) + ls::Tensor{}, ls::InvalidUsage);
  CHECK_THROWS_AS(ls::linear(ls::zeros({2, 2}), ls::Tensor{}), ls::InvalidUsage);
}

TEST_CASE("cross_entropy checks its labels") {
  const ls::Tensor logits = ls::zeros({2, 3});
  CHECK_THROWS_WITH(ls::cross_entropy(logits, ls::tensor<std::int64_t>({0, 3}, {2})),
                    Contains("3"));
  CHECK_THROWS_AS(ls::cross_entropy(logits, ls::tensor<std::int64_t>({-1, 0}, {2})),
                  ls::InvalidUsage);
  CHECK_THROWS_AS(ls::cross_entropy(logits, ls::tensor<std::int64_t>({0}, {1})), ls::ShapeError);
  CHECK_THROWS_AS(ls::cross_entropy(ls::zeros({3}), ls::tensor<std::int64_t>({0}, {1})),
                  ls::ShapeError);
  CHECK(ls::cross_entropy(logits, ls::tensor<std::int64_t>({-1, 0}, {2}), {.ignore_index = -1})
            .item() == Approx(std::log(3.0)));
}

TEST_CASE("cross_entropy of a row of very large logits is finite") {
  ls::Tensor logits = ls::tensor({1e4F, -1e4F, 1e4F}, {1, 3}).set_requires_grad(true);
  const ls::Tensor loss = ls::cross_entropy(logits, ls::tensor<std::int64_t>({1}, {1}));
  CHECK(loss.item() == Approx(2e4 + std::log(2.0)));
  loss.backward();
  CHECK(logits.gradient().to_vector() == std::vector<float>{0.5F, -1.0F, 0.5F});
}

TEST_CASE("with every label ignored the mean is NaN and the gradient exactly zero") {
  ls::Tensor logits = ls::tensor({1.0F, 2.0F}, {1, 2}).set_requires_grad(true);
  const ls::Tensor loss = ls::cross_entropy(logits, ls::tensor<std::int64_t>({-100}, {1}));
  CHECK(std::isnan(loss.item()));
  loss.backward();
  CHECK(logits.gradient().to_vector() == std::vector<float>{0, 0});
}

TEST_CASE("relu keeps a NaN, forward and backward") {
  ls::Tensor x = ls::tensor({kNan, -1.0F, 0.0F, 2.0F, -kInfinity, kInfinity}, {6});
  x.set_requires_grad(true);
  const ls::Tensor y = ls::relu(x);
  const std::vector<float> values = y.to_vector();
  CHECK(std::isnan(values[0]));
  CHECK(std::vector<float>(values.begin() + 1, values.end()) ==
        std::vector<float>{0, 0, 2, 0, kInfinity});
  ls::sum(y * 3.0).backward();
  CHECK(x.gradient().to_vector() == std::vector<float>{3, 0, 0, 3, 0, 3});
}

TEST_CASE("a NaN in one element reaches the sum, the mean and every matrix product with it") {
  const ls::Tensor x = ls::tensor({1.0F, kNan, 3.0F, 4.0F}, {2, 2});
  CHECK(std::isnan(ls::sum(x).item()));
  CHECK(std::isnan(ls::mean(x).item()));
  const auto product = ls::matmul(x, ls::zeros({2, 1})).to_vector();
  CHECK(std::isnan(product[0]));
  CHECK(product[1] == 0);
}

TEST_CASE("operations on no elements") {
  CHECK(ls::sum(ls::zeros({0, 4})).item() == 0);
  CHECK(std::isnan(ls::mean(ls::zeros({0})).item()));
  CHECK(ls::matmul(ls::full({2, 0}, 1), ls::full({0, 2}, 1)).to_vector() ==
        std::vector<float>{0, 0, 0, 0});
  CHECK(ls::linear(ls::zeros({0, 3}), ls::zeros({2, 3}), ls::zeros({2})).shape() ==
        ls::Shape{0, 2});
  CHECK(
      ls::linear(ls::zeros({2, 0}), ls::zeros({2, 0}), ls::tensor({1.0F, 2.0F}, {2})).to_vector() ==
      std::vector<float>{1, 2, 1, 2});
  CHECK((ls::zeros({0, 3}) + ls::zeros({1, 3})).shape() == ls::Shape{0, 3});
  CHECK(std::isnan(ls::mse_loss(ls::zeros({0}), ls::zeros({0})).item()));
  CHECK(std::isnan(ls::cross_entropy(ls::zeros({0, 3}), ls::zeros({0}, ls::DType::int64)).item()));
}

TEST_CASE("reshape shares the data and infers one size") {
  ls::Tensor x = ls::tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {2, 3});
  const ls::Tensor y = ls::reshape(x, {3, -1});
  CHECK(y.shape() == ls::Shape{3, 2});
  x.fill(7);
  CHECK(y.to_vector() == std::vector<float>(6, 7));
  CHECK(ls::reshape(ls::zeros({1}), {}).shape() == ls::Shape{});
  CHECK(ls::reshape(ls::zeros({0, 3}), {3, 0}).shape() == ls::Shape{3, 0});
  CHECK_THROWS_AS(ls::reshape(x, {4, -1}), ls::ShapeError);
  CHECK_THROWS_AS(ls::reshape(x, {-1, -1}), ls::ShapeError);
  CHECK_THROWS_AS(ls::reshape(x, {5}), ls::ShapeError);
  CHECK_THROWS_AS(ls::reshape(ls::zeros({0}), {0, -1}), ls::ShapeError);
}
