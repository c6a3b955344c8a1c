// Twenty steps of training, with all that optimizers offer, and the data that comes to it.
#include <functional>
#include <string>

#include "parity/training.hpp"

using namespace parity;

namespace {

using MakeOptimizer = std::function<std::unique_ptr<ls::optim::Optimizer>(Network&)>;

enum class Clip { no, unread, read };

struct Recipe {
  MakeOptimizer optimizer;
  Clip clip = Clip::no;
  int window = 1;       // backwards for each step
  bool freeze = false;  // the first weight is frozen for the first ten steps
};

/// Losses, norms and parameters.
template <class T>
std::vector<std::vector<T>> trained(const Recipe& recipe, ls::Device device) {
  const ls::DType dtype = ls::dtype_of<T>;
  Network network = make_network(device, dtype);
  ls::Parameter& frozen = network.body.layer<0>().weight();
  if (recipe.freeze) frozen.freeze();
  const auto optimizer = recipe.optimizer(network);
  std::vector<T> numbers;
  for (int step = 0; step < 20; ++step) {
    if (recipe.freeze && step == 10) frozen.unfreeze();
    if (step == 15) optimizer->set_learning_rate(0, 2e-3);
    optimizer->zero_grad();
    for (int part = 0; part < recipe.window; ++part) {
      const ls::data::Batch batch = batch_of(step * recipe.window + part, device, dtype);
      const ls::Tensor loss =
          ls::cross_entropy(network(batch.inputs, step % 3 == 0), batch.targets) *
          (1.0 / recipe.window);
      loss.backward();
      if (step % 4 == 0) numbers.push_back(loss.item<T>());
    }
    if (recipe.clip != Clip::no) {
      const auto norm = ls::optim::clip_gradient_norm(optimizer->parameters(), 0.5);
      if (recipe.clip == Clip::read) numbers.push_back(static_cast<T>(norm.value()));
    }
    optimizer->step();
  }
  numbers.push_back(static_cast<T>(optimizer->step_count()));
  auto values = parameter_values<T>(network);
  values.push_back(numbers);
  return values;
}

template <class T>
double training_apart(const Recipe& recipe) {
  return apart(trained<T>(recipe, ls::Device::cpu()), trained<T>(recipe, kCuda));
}

template <class Optimizer, class Options>
MakeOptimizer making(const Options& options) {
  return [options](Network& network) {
    return std::make_unique<Optimizer>(ls::parameters(network), options);
  };
}

/// The body and the rest in two groups, by turns.
template <class Optimizer, class Options>
MakeOptimizer making_groups(const Options& first, const Options& second) {
  return [=](Network& network) {
    std::vector<ls::optim::Group<Options>> groups(2);
    groups[0].options = first;
    groups[1].options = second;
    std::size_t next = 0;
    for (auto& named : ls::parameters(network))
      groups[next++ % 2].parameters.push_back({named.name, named.parameter.share()});
    return std::make_unique<Optimizer>(std::span<const ls::optim::Group<Options>>(groups));
  };
}

const MakeOptimizer kAdam =
    making<ls::optim::Adam>(ls::optim::AdamOptions{.learning_rate = 1e-2, .epsilon = kEpsilon});

}  // namespace

TEMPLATE_TEST_CASE("twenty steps of each optimizer agree on CUDA", "", float, double) {
  if (no_device()) return;
  using namespace ls::optim;
  CHECK(training_apart<TestType>({making<Sgd>(SgdOptions{.learning_rate = 0.1})}) <=
        kTraining<TestType>);
  CHECK(training_apart<TestType>({making<Sgd>(SgdOptions{
            .learning_rate = 0.05, .momentum = 0.9, .weight_decay = 1e-3, .nesterov = true})}) <=
        kTraining<TestType>);
  CHECK(training_apart<TestType>({kAdam}) <= kTraining<TestType>);
  CHECK(training_apart<TestType>({making<AdamW>(
            AdamWOptions{.learning_rate = 1e-2, .epsilon = kEpsilon, .weight_decay = 0.1})}) <=
        kTraining<TestType>);
}

TEMPLATE_TEST_CASE("parameter groups with options of their own agree on CUDA", "", float, double) {
  if (no_device()) return;
  using namespace ls::optim;
  CHECK(training_apart<TestType>({making_groups<Adam>(
            AdamOptions{.learning_rate = 1e-2, .epsilon = kEpsilon},
            AdamOptions{
                .learning_rate = 1e-3, .beta1 = 0.8, .epsilon = kEpsilon, .weight_decay = 0.1})}) <=
        kTraining<TestType>);
  CHECK(training_apart<TestType>({making_groups<Sgd>(
            SgdOptions{.learning_rate = 0.1},
            SgdOptions{.learning_rate = 0.05, .momentum = 0.9, .dampening = 0.1})}) <=
        kTraining<TestType>);
}

TEMPLATE_TEST_CASE("clipping agrees on CUDA whether the norm is read or not", "", float, double) {
  if (no_device()) return;
  for (const Clip clip : {Clip::unread, Clip::read})
    for (const int window : {1, 3})
      CHECK(training_apart<TestType>({kAdam, clip, window}) <= kTraining<TestType>);
  auto read = trained<TestType>({kAdam, Clip::read}, kCuda);
  auto unread = trained<TestType>({kAdam, Clip::unread}, kCuda);
  read.pop_back();  // the losses and norms that were read
  unread.pop_back();
  CHECK(same(read, unread));
}

TEMPLATE_TEST_CASE("accumulation and frozen parameters agree on CUDA", "", float, double) {
  if (no_device()) return;
  CHECK(training_apart<TestType>({kAdam, Clip::no, 3}) <= kTraining<TestType>);
  CHECK(training_apart<TestType>({kAdam, Clip::no, 1, true}) <= kTraining<TestType>);
  CHECK(training_apart<TestType>({kAdam, Clip::unread, 2, true}) <= kTraining<TestType>);
}

TEMPLATE_TEST_CASE("the same training twice has the same bits on CUDA", "", float, double) {
  if (no_device()) return;
  const Recipe recipe{kAdam, Clip::unread, 2};
  CHECK(same(trained<TestType>(recipe, kCuda), trained<TestType>(recipe, kCuda)));
}

TEST_CASE("norm and clipped gradients that are read on CUDA are those of the CPU") {
  if (no_device()) return;
  const auto gradients = [](ls::Device device, bool packed) {
    Network network = make_network(device, ls::DType::float64);
    const auto optimizer = packed ? kAdam(network) : nullptr;
    const auto batch = batch_of(1, device, ls::DType::float64);
    ls::cross_entropy(network(batch.inputs, true), batch.targets).backward();
    const ls::ParameterList list = ls::parameters(network);
    std::vector<double> norms{ls::optim::gradient_norm(list)};
    norms.push_back(ls::optim::clip_gradient_norm(list, 0.3));
    norms.push_back(ls::optim::gradient_norm(list));
    norms.push_back(ls::optim::clip_gradient_norm(list, 0.2));  // one factor upon another
    norms.push_back(ls::optim::clip_gradient_norm(list, 100));
    std::vector<std::vector<double>> values{norms};
    for (const auto& named : list) values.push_back(named.parameter.gradient().to_vector<double>());
    CHECK(values[0][2] == Approx(0.3).epsilon(1e-4));
    CHECK(values[0][4] == Approx(0.2).epsilon(1e-4));
    return values;
  };
  for (const bool packed : {false, true}) {
    INFO("packed " << packed);
    CHECK(apart(gradients(ls::Device::cpu(), packed), gradients(kCuda, packed)) <=
          kProduct<double>);
  }
}

TEST_CASE("clipping a part of an arena leaves the other gradients on CUDA as on the CPU") {
  if (no_device()) return;
  const auto gradients = [](ls::Device device) {
    Network network = make_network(device, ls::DType::float64);
    const auto optimizer = kAdam(network);
    const auto batch = batch_of(2, device, ls::DType::float64);
    ls::cross_entropy(network(batch.inputs, true), batch.targets).backward();
    std::vector<std::vector<double>> values;
    values.push_back({ls::optim::clip_gradient_norm(ls::parameters(network), 0.7)});
    values.push_back({ls::optim::clip_gradient_norm(ls::parameters(network.head), 0.01)});
    for (const auto& named : ls::parameters(network))
      values.push_back(named.parameter.gradient().to_vector<double>());
    return values;
  };
  CHECK(apart(gradients(ls::Device::cpu()), gradients(kCuda)) <= kProduct<double>);
}

TEST_CASE("a loader brings the same batches to CUDA, and they stay valid while they are kept") {
  if (no_device()) return;
  const ls::data::TensorDataset dataset(random_tensor({50, 3, 2}, ls::DType::float32, 31),
                                        random_tensor({50}, ls::DType::float64, 32));
  for (const int prefetch : {0, 2}) {
    const auto batches = [&](ls::Device device) {
      ls::data::DataLoader loader(
          dataset, 0, 1, {.batch_size_per_rank = 7, .shuffle = true, .prefetch = prefetch}, device);
      std::vector<ls::data::Batch> kept;
      for (const auto& batch : loader.epoch(3)) kept.push_back(batch);
      std::vector<std::vector<double>> values;
      for (const auto& batch : kept) {
        CHECK(batch.inputs.device() == device);
        CHECK(batch.targets.device() == device);
        values.push_back(batch.inputs.to_vector<double>());
        values.push_back(batch.targets.to_vector<double>());
      }
      return values;
    };
    const auto found = batches(kCuda);
    CHECK(found.size() == 16);
    CHECK(same(batches(ls::Device::cpu()), found));
  }
}
