// Elementwise functions, quotients and losses of pairs against central differences in float64.
#include <catch2/catch.hpp>

#include "unit/gradient_check.hpp"

namespace ls = lockstep;
using gradient_check::Function;
using gradient_check::kTolerance;
using gradient_check::largest_error;
using gradient_check::random_leaves;
using gradient_check::Tensors;

TEST_CASE("the gradients of elementwise functions are right") {
  const auto above_zero = [](const ls::Tensor& x) { return x * x + 0.5; };
  const std::vector<std::pair<const char*, Function>> functions = {
      {"abs", [](const Tensors& x) { return ls::abs(x[0]); }},
      {"clamp", [](const Tensors& x) { return ls::clamp(x[0], -0.7, 0.9); }},
      {"exp", [](const Tensors& x) { return ls::exp(x[0]); }},
      {"gelu", [](const Tensors& x) { return ls::gelu(x[0] * 3.0); }},
      {"log", [&](const Tensors& x) { return ls::log(above_zero(x[0])); }},
      {"pow 3", [](const Tensors& x) { return ls::pow(x[0], 3); }},
      {"pow 1.3", [&](const Tensors& x) { return ls::pow(above_zero(x[0]), 1.3); }},
      {"pow -0.5", [&](const Tensors& x) { return ls::pow(above_zero(x[0]), -0.5); }},
      {"pow 0", [](const Tensors& x) { return ls::pow(x[0], 0); }},
      {"sigmoid", [](const Tensors& x) { return ls::sigmoid(x[0] * 3.0); }},
      {"silu", [](const Tensors& x) { return ls::silu(x[0] * 3.0); }},
      {"sqrt", [&](const Tensors& x) { return ls::sqrt(above_zero(x[0])); }},
      {"tanh", [](const Tensors& x) { return ls::tanh(x[0]); }}};
  for (const auto& [name, function] : functions)
    for (const ls::Shape& shape :
         {ls::Shape{}, ls::Shape{0}, ls::Shape{1}, ls::Shape{17}, ls::Shape{3, 5, 7}}) {
      INFO(name << " of " << to_string(shape));
      CHECK(largest_error(function, random_leaves({shape})) < kTolerance);
    }
}

TEST_CASE("the gradients of quotients are right for every broadcast") {
  const std::vector<std::pair<ls::Shape, ls::Shape>> pairs{
      {{3, 5}, {3, 5}}, {{3, 5}, {5}}, {{5}, {3, 5}}, {{3, 1}, {1, 7}},       {{}, {2, 3}},
      {{2, 3}, {}},     {{}, {}},      {{0, 3}, {3}}, {{2, 1, 4}, {2, 3, 4}}, {{7, 33}, {7, 1}}};
  for (const auto& [a, b] : pairs) {
    INFO(to_string(a) << " and " << to_string(b));
    CHECK(largest_error([](const Tensors& x) { return x[0] / (x[1] * x[1] + 0.5); },
                        random_leaves({a, b})) < kTolerance);
  }
  CHECK(largest_error([](const Tensors& x) { return x[0] / 0.3; }, random_leaves({{3, 7}})) <
        kTolerance);
  CHECK(largest_error([](const Tensors& x) { return 0.3 / (x[0] * x[0] + 0.5); },
                      random_leaves({{3, 7}})) < kTolerance);
}

TEST_CASE("the gradients of losses of pairs are right, of the target's too") {
  for (const ls::Reduction reduction : {ls::Reduction::mean, ls::Reduction::sum})
    for (const ls::Shape& shape : {ls::Shape{}, ls::Shape{1}, ls::Shape{3, 5}}) {
      INFO(to_string(shape));
      const auto error = [&](const Function& loss) {
        return largest_error(loss, random_leaves({shape, shape}));
      };
      for (const double weight : {1.0, 3.5})
        CHECK(error([&](const Tensors& x) {
                return ls::bce_with_logits(x[0] * 3.0, ls::sigmoid(x[1]),
                                           {.reduction = reduction, .positive_weight = weight});
              }) < kTolerance);
      CHECK(error([&](const Tensors& x) {
              return ls::huber_loss(x[0], x[1], {.reduction = reduction, .delta = 0.8});
            }) < kTolerance);
      CHECK(error([&](const Tensors& x) {
              return ls::l1_loss(x[0], x[1], {.reduction = reduction});
            }) < kTolerance);
    }
}
