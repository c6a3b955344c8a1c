// Every differentiable operation against central differences in float64, at sizes 0, 1 and odd
// ones, with broadcasting in both directions.
#include <catch2/catch.hpp>
#include <lockstep/core/error.hpp>

#include "unit/gradient_check.hpp"

namespace ls = lockstep;
using gradient_check::kTolerance;
using gradient_check::largest_error;
using gradient_check::random_leaves;
using gradient_check::Tensors;

TEST_CASE("the gradients of add, sub and mul are right for every broadcast") {
  const std::vector<std::pair<ls::Shape, ls::Shape>> pairs{
      {{3, 5}, {3, 5}},    {{3, 5}, {5}},       {{5}, {3, 5}},          {{3, 5}, {3, 1}},
      {{3, 1}, {1, 7}},    {{}, {2, 3}},        {{2, 3}, {}},           {{}, {}},
      {{1}, {1}},          {{1, 1, 1}, {3, 3}}, {{2, 1, 4}, {2, 3, 4}}, {{2, 3, 4}, {3, 1}},
      {{0, 3}, {3}},       {{3}, {0, 3}},       {{1, 3}, {0, 3}},       {{0}, {1}},
      {{2, 1, 3, 1}, {5}}, {{33}, {7, 33}},     {{7, 33}, {7, 1}}};
  for (const auto& [a, b] : pairs) {
    INFO(to_string(a) << " and " << to_string(b));
    const auto leaves = [&a = a, &b = b] { return random_leaves({a, b}); };
    CHECK(largest_error([](const Tensors& x) { return x[0] + x[1]; }, leaves()) < kTolerance);
    CHECK(largest_error([](const Tensors& x) { return x[0] - x[1]; }, leaves()) < kTolerance);
    CHECK(largest_error([](const Tensors& x) { return x[0] * x[1]; }, leaves()) < kTolerance);
  }
}

TEST_CASE("the gradients of operations with numbers are right") {
  for (const ls::Shape& shape : {ls::Shape{}, ls::Shape{0}, ls::Shape{1}, ls::Shape{3, 7}}) {
    INFO(to_string(shape));
    const auto error = [&](const gradient_check::Function& function) {
      return largest_error(function, random_leaves({shape}));
    };
    CHECK(error([](const Tensors& x) { return x[0] + 2.0; }) < kTolerance);
    CHECK(error([](const Tensors& x) { return 2.0 + x[0]; }) < kTolerance);
    CHECK(error([](const Tensors& x) { return x[0] - 2.0; }) < kTolerance);
    CHECK(error([](const Tensors& x) { return 2.0 - x[0]; }) < kTolerance);
    CHECK(error([](const Tensors& x) { return x[0] * -3.0; }) < kTolerance);
    CHECK(error([](const Tensors& x) { return -x[0]; }) < kTolerance);
  }
}

TEST_CASE("the gradients of relu, gelu_tanh, reshape, sum and mean are right") {
  for (const ls::Shape& shape : {ls::Shape{}, ls::Shape{1}, ls::Shape{17}, ls::Shape{3, 5, 7}}) {
    INFO(to_string(shape));
    const auto error = [&](const gradient_check::Function& function) {
      return largest_error(function, random_leaves({shape}));
    };
    CHECK(error([](const Tensors& x) { return ls::relu(x[0]); }) < kTolerance);
    CHECK(error([](const Tensors& x) { return ls::gelu_tanh(x[0] * 3.0); }) < kTolerance);
    CHECK(error([](const Tensors& x) { return ls::reshape(x[0], {-1, 1}); }) < kTolerance);
    CHECK(error([](const Tensors& x) { return ls::sum(x[0]); }) < kTolerance);
    CHECK(error([](const Tensors& x) { return ls::mean(x[0]); }) < kTolerance);
    CHECK(error([](const Tensors& x) { return ls::sum(x[0]) * x[0]; }) < kTolerance);
  }
}

TEST_CASE("the gradient of dropout is right for the mask that was drawn") {
  for (const double probability : {0.0, 0.3, 1.0}) {
    const auto function = [&](const Tensors& x) {
      ls::Generator generator{5};  // the same mask in every call
      return ls::dropout(x[0], probability, generator);
    };
    CHECK(largest_error(function, random_leaves({{3, 5, 7}})) < kTolerance);
  }
}

TEST_CASE("the gradient of a tensor without elements has its shape") {
  ls::Tensor x = ls::zeros({0, 3}, ls::DType::float64).set_requires_grad(true);
  (ls::sum(ls::relu(x)) + ls::mean(ls::gelu_tanh(ls::dropout(x)))).backward();
  CHECK(x.gradient().shape() == ls::Shape{0, 3});
}

TEST_CASE("the gradients of matmul are right") {
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {3, 5, 7},
                                                                        {1, 9, 1},
                                                                        {4, 1, 3},
                                                                        {17, 3, 2},
                                                                        {0, 3, 2},
                                                                        {2, 3, 0},
                                                                        {2, 0, 3}}) {
    INFO(m << " " << k << " " << n);
    CHECK(largest_error([](const Tensors& x) { return ls::matmul(x[0], x[1]); },
                        random_leaves({{m, k}, {k, n}})) < kTolerance);
  }
}

TEST_CASE("the gradients of linear are right with and without bias") {
  for (const ls::Shape& shape : {ls::Shape{1, 1}, ls::Shape{5, 3}, ls::Shape{2, 3, 4}, ls::Shape{6},
                                 ls::Shape{0, 4}, ls::Shape{2, 0, 4}})
    for (const std::int64_t out : {1, 2, 7}) {
      INFO(to_string(shape) << " to " << out);
      const ls::Shape weight{out, shape[-1]};
      CHECK(largest_error([](const Tensors& x) { return ls::linear(x[0], x[1], x[2]); },
                          random_leaves({shape, weight, {out}})) < kTolerance);
      CHECK(largest_error([](const Tensors& x) { return ls::linear(x[0], x[1]); },
                          random_leaves({shape, weight})) < kTolerance);
    }
}

TEST_CASE("a value that is used in two products collects both gradients") {
  CHECK(largest_error([](const Tensors& x) { return ls::matmul(ls::matmul(x[0], x[1]), x[1]); },
                      random_leaves({{2, 3}, {3, 3}})) < kTolerance);
  CHECK(largest_error([](const Tensors& x) { return ls::matmul(x[0], x[0]); },
                      random_leaves({{3, 3}})) < kTolerance);
  CHECK(largest_error(
            [](const Tensors& x) {
              return ls::linear(ls::relu(ls::linear(x[0], x[1], x[2])), x[1], x[2]);
            },
            random_leaves({{4, 3}, {3, 3}, {3}})) < kTolerance);
}

TEST_CASE("the gradients of the losses are right") {
  for (const ls::Reduction reduction : {ls::Reduction::mean, ls::Reduction::sum}) {
    for (const auto& [classes, labels] :
         std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>>{
             {1, {0}}, {7, {6}}, {3, {2, 0, 1, 1, 2}}, {5, {1, -100, 4}}, {2, {-100, 0}}}) {
      INFO(classes << " classes, " << labels.size() << " rows");
      const auto rows = static_cast<std::int64_t>(labels.size());
      const ls::Tensor target = ls::tensor(labels, {rows});
      CHECK(largest_error(
                [&](const Tensors& x) {
                  return ls::cross_entropy(x[0], target, {.reduction = reduction});
                },
                random_leaves({{rows, classes}})) < kTolerance);
    }
    for (const ls::Shape& shape : {ls::Shape{}, ls::Shape{1}, ls::Shape{3, 5}}) {
      INFO(to_string(shape));
      CHECK(
          largest_error(
              [&](const Tensors& x) { return ls::mse_loss(x[0], x[1], {.reduction = reduction}); },
              random_leaves({shape, shape})) < kTolerance);
    }
  }
}

TEST_CASE("the gradient passes through a change of dtype") {
  ls::Tensor x = ls::tensor({1.0F, -2.0F}, {2}).set_requires_grad(true);
  const ls::Tensor y = x.to(ls::DType::float64);
  CHECK(y.dtype() == ls::DType::float64);
  ls::sum(y * y).backward();
  CHECK(x.gradient().dtype() == ls::DType::float32);
  CHECK(x.gradient().to_vector() == std::vector<float>{2, -4});
}

TEST_CASE("a composition of many operations has the right gradient") {
  const auto network = [](const Tensors& x) {
    const ls::Tensor hidden = ls::relu(ls::linear(x[0], x[1], x[2])) * x[3];
    const ls::Tensor both = hidden + ls::reshape(ls::matmul(x[0], x[4]), {4, 5});
    return ls::cross_entropy(both - 0.5 * both * both, ls::tensor<std::int64_t>({0, 4, 2, 1}, {4}));
  };
  CHECK(largest_error(network, random_leaves({{4, 3}, {5, 3}, {5}, {1, 5}, {3, 5}})) < kTolerance);
}
