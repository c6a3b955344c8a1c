// Operations on rows against central differences in float64.
#include <catch2/catch.hpp>

#include "unit/gradient_check.hpp"

namespace ls = lockstep;
using gradient_check::kTolerance;
using gradient_check::largest_error;
using gradient_check::random_leaves;
using gradient_check::Tensors;

TEST_CASE("the gradients of softmax and its logarithm are right along every axis") {
  for (const ls::Shape& shape : {ls::Shape{}, ls::Shape{1}, ls::Shape{17}, ls::Shape{3, 5, 7},
                                 ls::Shape{2, 1, 19}, ls::Shape{0, 3}})
    for (int axis = -1; axis < shape.axes(); ++axis) {
      INFO(to_string(shape) << " along " << axis);
      CHECK(largest_error([axis](const Tensors& x) { return ls::softmax(x[0], axis); },
                          random_leaves({shape})) < kTolerance);
      CHECK(largest_error([axis](const Tensors& x) { return ls::log_softmax(x[0], axis); },
                          random_leaves({shape})) < kTolerance);
    }
}

TEST_CASE("the gradients of layer_norm are right with and without weight and bias") {
  const auto of_three = [](const Tensors& x) {
    return ls::layer_norm(x[0], x[1].shape(), x[1], x[2], 0.1);
  };
  const std::vector<std::pair<ls::Shape, ls::Shape>> shapes{
      {{5, 7}, {7}},  {{2, 3, 4}, {3, 4}}, {{6}, {6}},   {{3, 1}, {1}},
      {{40, 2}, {2}}, {{2, 33}, {33}},     {{0, 4}, {4}}};
  for (const auto& [shape, last] : shapes) {
    INFO(to_string(shape) << " over " << to_string(last));
    CHECK(largest_error(of_three, random_leaves({shape, last, last})) < kTolerance);
    CHECK(largest_error([&last = last](
                            const Tensors& x) { return ls::layer_norm(x[0], last, {}, x[1], 0.1); },
                        random_leaves({shape, last})) < kTolerance);
    CHECK(largest_error(
              [&last = last](const Tensors& x) { return ls::layer_norm(x[0], last, {}, {}, 0.1); },
              random_leaves({shape})) < kTolerance);
  }
}

TEST_CASE("the gradient of an embedding is right, for a row that is used again too") {
  const ls::Tensor indices = ls::tensor<std::int64_t>({2, 0, 2, 2, 1, 0}, {2, 3});
  CHECK(largest_error([&](const Tensors& x) { return ls::embedding(indices, x[0]); },
                      random_leaves({{4, 5}})) < kTolerance);
  CHECK(largest_error(
            [&](const Tensors& x) {
              return ls::linear(ls::embedding(indices, x[0]), x[0]) * ls::sum(x[0]);
            },
            random_leaves({{4, 5}})) < kTolerance);
}

TEST_CASE("the gradient of a loss of smoothed labels is right") {
  const ls::Tensor labels = ls::tensor<std::int64_t>({2, -100, 0, 1}, {4});
  for (const ls::Reduction reduction : {ls::Reduction::mean, ls::Reduction::sum})
    for (const double smoothing : {0.1, 1.0})
      CHECK(largest_error(
                [&](const Tensors& x) {
                  return ls::cross_entropy(x[0], labels,
                                           {.reduction = reduction, .label_smoothing = smoothing});
                },
                random_leaves({{4, 3}})) < kTolerance);
}
