// Elementwise functions, quotients and losses of pairs, forward and backward, on CUDA.
#include "parity/functions.hpp"

using namespace parity;

namespace {

const std::vector<ls::Shape> kShapes = {{}, {0}, {1}, {7}, {1025}, {3, 0, 2}, {3, 5, 7}};

const std::vector<std::pair<const char*, Function>> kFunctions = {
    {"abs", [](const Tensors& x) { return ls::abs(x[0]); }},
    {"clamp", [](const Tensors& x) { return ls::clamp(x[0], -0.7, 0.9); }},
    {"exp", [](const Tensors& x) { return ls::exp(x[0]); }},
    {"gelu", [](const Tensors& x) { return ls::gelu(x[0]); }},
    {"gelu_tanh", [](const Tensors& x) { return ls::gelu_tanh(x[0]); }},
    {"log", [](const Tensors& x) { return ls::log(x[0]); }},
    {"pow 3", [](const Tensors& x) { return ls::pow(x[0], 3); }},
    {"pow -0.7", [](const Tensors& x) { return ls::pow(x[0], -0.7); }},
    {"relu", [](const Tensors& x) { return ls::relu(x[0]); }},
    {"sigmoid", [](const Tensors& x) { return ls::sigmoid(x[0]); }},
    {"silu", [](const Tensors& x) { return ls::silu(x[0]); }},
    {"sqrt", [](const Tensors& x) { return ls::sqrt(x[0]); }},
    {"tanh", [](const Tensors& x) { return ls::tanh(x[0]); }},
    {"div by a number", [](const Tensors& x) { return x[0] / 0.7; }},
    {"div of a number", [](const Tensors& x) { return 0.7 / x[0]; }}};

}  // namespace

TEMPLATE_TEST_CASE("elementwise functions have the same bits on CUDA, backward too", "", float,
                   double) {
  if (no_device()) return;
  const auto awkward = awkward_values<TestType>(1025, 5);
  for (const auto& [name, function] : kFunctions)
    for (const bool odd : {false, true}) {
      INFO(name << ", odd " << odd);
      for (const ls::Shape& shape : kShapes)
        CHECK(same(on_devices<TestType>(function, std::vector<ls::Shape>{shape}, odd)));
      if (std::string(name) != "div of a number")  // whose gradient passes a sum of one
        CHECK(same(on_devices<TestType>(function, Tensors{ls::tensor(awkward, {1025})}, odd)));
    }
}

TEMPLATE_TEST_CASE("quotients agree on CUDA in every form of a broadcast", "", float, double) {
  if (no_device()) return;
  const std::vector<std::pair<ls::Shape, ls::Shape>> pairs = {
      {{}, {}},         {{7}, {7}},       {{1025}, {}}, {{}, {257}},      {{4, 5}, {5}},
      {{4, 5}, {4, 1}}, {{4, 1}, {1, 5}}, {{0}, {1}},   {{2, 0, 3}, {3}}, {{3, 4, 5}, {3, 1, 5}}};
  for (const auto& [a, b] : pairs)
    for (const bool odd : {false, true}) {
      INFO(to_string(a) << " and " << to_string(b) << ", odd " << odd);
      const auto quotient = [](const Tensors& x) { return x[0] / (x[1] * x[1] + 0.5); };
      CHECK(apart(on_devices<TestType>(quotient, std::vector<ls::Shape>{a, b}, odd)) <=
            kSum<TestType>);
    }
}

TEMPLATE_TEST_CASE("losses of pairs agree on CUDA, of nothing too, and of many chunks", "", float,
                   double) {
  if (no_device()) return;
  auto shapes = kShapes;
  shapes.push_back({70001});
  for (const ls::Shape& shape : shapes)
    for (const auto reduction : {ls::Reduction::mean, ls::Reduction::sum})
      for (const bool odd : {false, true}) {
        INFO(to_string(shape) << ", odd " << odd);
        const auto check = [&](const Function& loss) {
          CHECK(apart(on_devices<TestType>(loss, std::vector<ls::Shape>{shape, shape}, odd)) <=
                kSum<TestType>);
        };
        check([&](const Tensors& x) {
          return ls::bce_with_logits(x[0], x[1], {.reduction = reduction, .positive_weight = 1.5});
        });
        check([&](const Tensors& x) {
          return ls::huber_loss(x[0], x[1], {.reduction = reduction, .delta = 0.8});
        });
        check([&](const Tensors& x) { return ls::l1_loss(x[0], x[1], {.reduction = reduction}); });
      }
}
