// Writing over a value that the tape saved is refused at backward; other writes are allowed.
#include <catch2/catch.hpp>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {

ls::Tensor leaf(std::initializer_list<double> values, const ls::Shape& shape) {
  return ls::tensor(values, shape).set_requires_grad(true);
}

}  // namespace

TEST_CASE("writing over an operand of mul is refused at backward, naming the operation") {
  const ls::Tensor x = leaf({1, 2}, {2});
  ls::Tensor y = ls::tensor({3.0, 4.0}, {2});
  const ls::Tensor loss = ls::sum(x * y);
  SECTION("through mutable_data") { y.mutable_data<double>()[0] = 9; }
  SECTION("through mutable_raw_data") { y.mutable_raw_data(); }
  SECTION("through fill") { y.fill(1); }
  SECTION("through copy_from") { y.copy_from(ls::zeros({2}, ls::DType::float64)); }
  SECTION("through a view") { ls::reshape(y, {1, 2}).fill(1); }
  SECTION("through a detached handle") { y.detach().fill(1); }
  CHECK_THROWS_AS(loss.backward({.retain_graph = true}), ls::InvalidUsage);
  CHECK_THROWS_WITH(loss.backward({.retain_graph = true}), Contains("mul"));
}

TEST_CASE("writing over the result of relu is refused, over its input it is not") {
  ls::Tensor x = ls::tensor({1.0, -2.0}, {2});
  const ls::Tensor scale = leaf({1, 1}, {2});
  const ls::Tensor before = x * scale;
  ls::Tensor result = ls::relu(before);
  const ls::Tensor loss = ls::sum(result);
  result.fill(0);
  CHECK_THROWS_AS(loss.backward(), ls::InvalidUsage);
}

TEST_CASE("writing over the operands of matmul and linear is refused") {
  ls::Tensor a = ls::tensor({1.0, 2.0}, {1, 2});
  const ls::Tensor b = leaf({3, 4}, {2, 1});
  const ls::Tensor product = ls::matmul(a, b);
  a.fill(0);
  CHECK_THROWS_WITH(product.backward(), Contains("matmul"));

  ls::Tensor x = ls::tensor({1.0, 2.0}, {1, 2});
  const ls::Tensor weight = leaf({3, 4}, {1, 2});
  const ls::Tensor y = ls::linear(x, weight);
  x.fill(0);
  CHECK_THROWS_WITH(y.backward(), Contains("linear"));
}

TEST_CASE("writing over the operands of a loss is refused") {
  const ls::Tensor prediction = leaf({1, 2}, {2});
  ls::Tensor target = ls::tensor({0.0, 0.0}, {2});
  const ls::Tensor square = ls::mse_loss(prediction, target);
  target.fill(1);
  CHECK_THROWS_AS(square.backward(), ls::InvalidUsage);

  const ls::Tensor logits = leaf({1, 2}, {1, 2});
  ls::Tensor labels = ls::tensor<std::int64_t>({0}, {1});
  const ls::Tensor entropy = ls::cross_entropy(logits, labels);
  labels.fill(1);
  CHECK_THROWS_AS(entropy.backward(), ls::InvalidUsage);
}

TEST_CASE("writing over a value that nobody saved is allowed") {
  const ls::Tensor x = leaf({1, 2}, {2});
  ls::Tensor y = ls::tensor({3.0, 4.0}, {2});
  const ls::Tensor loss = ls::sum((x + y) * 2.0);
  y.fill(0);
  CHECK_NOTHROW(loss.backward());
  CHECK(x.gradient().to_vector<double>() == std::vector<double>{2, 2});
}

TEST_CASE("a backward that is refused has changed nothing") {
  ls::Tensor first = leaf({1, 2}, {2});
  const ls::Tensor second = leaf({1, 2}, {2});
  ls::Tensor factor = ls::tensor({3.0, 4.0}, {2});
  ls::sum(first * 5.0).backward();
  const ls::Tensor loss = ls::sum(first * second) + ls::sum(second * factor);
  factor.fill(0);
  CHECK_THROWS_AS(loss.backward(), ls::InvalidUsage);
  CHECK(first.gradient().to_vector<double>() == std::vector<double>{5, 5});
  CHECK_FALSE(second.has_gradient());
}

TEST_CASE("writing before the value is used, or after backward, is allowed") {
  ls::Tensor x = leaf({1, 2}, {2});
  x.fill(3);
  ls::sum(x * x).backward();
  CHECK(x.gradient().to_vector<double>() == std::vector<double>{6, 6});
  x.fill(4);
  x.zero_gradient();
  ls::sum(x * x).backward();
  CHECK(x.gradient().to_vector<double>() == std::vector<double>{8, 8});
}

TEST_CASE("reading a saved value does not count as writing") {
  ls::Tensor x = leaf({1, 2}, {2});
  const ls::Tensor loss = ls::sum(x * x);
  CHECK(x.data<double>()[1] == 2);
  CHECK(x.to_vector<double>().size() == 2);
  CHECK(x.raw_data() != nullptr);
  CHECK_NOTHROW(loss.backward());
}
