// A captured step gives the bits of the step as it is: the same losses, the same parameters.
#include <optional>

#include <lockstep/core/captured_step.hpp>
#include "parity/training.hpp"

using namespace parity;

namespace {

struct Recipe {
  double dropout = 0;
  double clip = 0;  // 0: none
  bool momentum = false;
};

std::unique_ptr<ls::optim::Optimizer> optimizer_of(Network& network, const Recipe& recipe) {
  const auto list = ls::parameters(network);
  if (recipe.momentum)
    return std::make_unique<ls::optim::Sgd>(
        list, ls::optim::SgdOptions{.learning_rate = 0.05, .momentum = 0.9});
  return std::make_unique<ls::optim::AdamW>(
      list, ls::optim::AdamWOptions{.learning_rate = 1e-2, .epsilon = kEpsilon});
}

/// Fourteen steps; the losses that were read, and the parameters at the end.
template <class T>
std::vector<std::vector<T>> trained(const Recipe& recipe, ls::Device device, bool captured) {
  const ls::DType dtype = ls::dtype_of<T>;
  ls::default_generator() = ls::Generator{31};
  Network network = make_network(device, dtype);
  const auto optimizer = optimizer_of(network, recipe);
  ls::CapturedStep step{[&](const ls::Tensor& x, const ls::Tensor& labels) {
                          const ls::Tensor logits = ls::dropout(network(x, true), recipe.dropout);
                          ls::Tensor loss = ls::cross_entropy(logits, labels);
                          optimizer->zero_grad();
                          loss.backward();
                          if (recipe.clip > 0)
                            ls::optim::clip_gradient_norm(optimizer->parameters(), recipe.clip);
                          optimizer->step();
                          return loss;
                        },
                        {.enabled = captured}};
  std::vector<T> numbers;
  for (int number = 0; number < 14; ++number) {
    if (number == 9) optimizer->set_learning_rate(3e-3);
    const auto batch = batch_of(number, device, dtype);
    const ls::Tensor loss = step(batch.inputs, batch.targets);
    if (number % 3 == 1) numbers.push_back(loss.item<T>());
  }
  CHECK(step.replay_count() == (captured && device == kCuda ? 12 : 0));
  numbers.push_back(static_cast<T>(optimizer->step_count()));
  numbers.push_back(static_cast<T>(ls::default_generator().offset()));
  auto values = parameter_values<T>(network);
  values.push_back(numbers);
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("a captured step has the bits of the step as it is, and agrees with the CPU", "",
                   float, double) {
  if (no_device()) return;
  for (const Recipe& recipe : {Recipe{}, Recipe{.dropout = 0.2}, Recipe{.clip = 0.3},
                               Recipe{.momentum = true}, Recipe{0.1, 0.5, true}}) {
    INFO("dropout " << recipe.dropout << ", clip " << recipe.clip << ", SGD " << recipe.momentum);
    const auto replayed = trained<TestType>(recipe, kCuda, true);
    CHECK(same(trained<TestType>(recipe, kCuda, false), replayed));
    CHECK(apart(trained<TestType>(recipe, ls::Device::cpu(), true), replayed) <=
          kTraining<TestType>);
  }
}

TEST_CASE("a step that reads a value runs as it is on CUDA, with the same result") {
  if (no_device()) return;
  const auto run = [](ls::Device device) {
    const ls::Tensor weights = random_tensor({5}, ls::DType::float64, 1).to(device);
    ls::CapturedStep step{[&](const ls::Tensor& x) {
      const double scale = ls::sum(x).item();
      return ls::sum(x * weights) * scale;
    }};
    std::vector<double> values;
    for (std::uint64_t i = 0; i < 6; ++i)
      values.push_back(step(random_tensor({5}, ls::DType::float64, 2 + i).to(device)).item());
    CHECK(step.replay_count() == 0);
    CHECK(step.refused() == (device == kCuda));
    return values;
  };
  CHECK(apart(run(ls::Device::cpu()), run(kCuda)) <= kSum<double>);
}

TEST_CASE("a captured step with a wrong label reports it at the next read, once") {
  if (no_device()) return;
  ls::Tensor logits = random_tensor({4, 3}, ls::DType::float32, 3).to(kCuda);
  ls::CapturedStep step{
      [&](const ls::Tensor& labels) { return ls::cross_entropy(logits, labels); }};
  const ls::Tensor right = ls::tensor<std::int64_t>({0, 1, 2, 0}, {4}, kCuda);
  const ls::Tensor wrong = ls::tensor<std::int64_t>({0, 1, 3, 0}, {4}, kCuda);
  for (int i = 0; i < 4; ++i) CHECK_NOTHROW(step(right).item());
  CHECK(step.replay_count() == 2);
  const ls::Tensor loss = step(wrong);
  CHECK_THROWS_AS(loss.item(), ls::InvalidUsage);
  CHECK_NOTHROW(step(right).item());
}
