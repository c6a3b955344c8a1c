// What loaders do together: partitions over real ranks, and sums over them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "support/test_environment.hpp"

namespace ls = lockstep;
using ls::data::DataLoader;
using ls::data::LoaderOptions;
using ls::data::Partition;
using ls::data::TensorDataset;
using Indices = std::vector<std::int64_t>;

namespace {

TensorDataset numbers(std::int64_t count) {
  Indices values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return TensorDataset(ls::tensor(values, {count}));
}

Indices own_samples(DataLoader& loader) {
  Indices own;
  for (const auto& batch : loader.epoch()) {
    const auto part = batch.inputs.to_vector<std::int64_t>();
    own.insert(own.end(), part.begin(), part.end());
  }
  return own;
}

std::vector<Indices> samples_of_all_ranks(DataLoader& loader) {
  const auto own = own_samples(loader);
  const std::string_view bytes(reinterpret_cast<const char*>(own.data()), own.size() * 8);
  std::vector<Indices> all;
  for (const auto& part : test_environment().ranks().gather_bytes(bytes)) {
    all.emplace_back(part.size() / 8);
    if (!part.empty()) std::memcpy(all.back().data(), part.data(), part.size());
  }
  return all;
}

Indices joined(const std::vector<Indices>& parts) {
  Indices all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

struct Evaluation {
  double loss = 0;
  double correct = 0;
  double samples = 0;
};

template <class Model>
Evaluation add_up(const Model& model, const ls::data::Batch& batch, Evaluation sum) {
  const auto logits = model(batch.inputs);
  sum.loss += ls::cross_entropy(logits, batch.targets, {.reduction = ls::Reduction::sum})
                  .template item<float>();
  const auto guesses = ls::argmax(logits).template to_vector<std::int64_t>();
  const auto labels = batch.targets.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) sum.correct += guesses[i] == labels[i];
  sum.samples += static_cast<double>(batch.size);
  return sum;
}

}  // namespace

TEST_CASE("An exact partition gives every sample to exactly one rank") {
  for (const std::int64_t count : {0, 1, 2, 3, 7, 10, 33}) {
    const auto dataset = numbers(count);
    DataLoader loader(dataset, test_environment(),
                      {.batch_size_per_rank = 4, .shuffle = true, .partition = Partition::exact});
    auto all = joined(samples_of_all_ranks(loader));
    std::sort(all.begin(), all.end());
    CHECK(all == dataset.inputs().to_vector<std::int64_t>());
  }
}

TEST_CASE("Ranks that never agreed on anything but the seed share each epoch without overlap") {
  const auto dataset = numbers(24);
  test_environment().seed(11);
  DataLoader loader(dataset, test_environment(), {.batch_size_per_rank = 5, .shuffle = true});
  DataLoader again(dataset, test_environment(), {.batch_size_per_rank = 5, .shuffle = true});
  std::vector<Indices> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    orders.push_back(joined(samples_of_all_ranks(loader)));
    CHECK(joined(samples_of_all_ranks(again)) == orders.back());
    auto sorted = orders.back();
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == dataset.inputs().to_vector<std::int64_t>());
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
}

TEST_CASE("The environment's seed at the time of construction decides a loader's order") {
  const auto dataset = numbers(24);
  const auto order = [&](std::uint64_t seed) {
    test_environment().seed(seed);
    DataLoader loader(dataset, test_environment(), {.batch_size_per_rank = 5, .shuffle = true});
    return own_samples(loader);
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE("A set smaller than the number of ranks is padded, and every rank takes one step") {
  const auto dataset = numbers(1);
  DataLoader loader(dataset, test_environment(), {.batch_size_per_rank = 4});
  for (const auto& own : samples_of_all_ranks(loader)) CHECK(own == Indices{0});
}

TEST_CASE("Loss and accuracy of a test set do not depend on the number of ranks") {
  auto& env = test_environment();
  for (const std::int64_t count : {1, 5, 30}) {
    ls::Generator generator(3);
    const ls::nn::Linear model(6, 4, generator);
    const auto inputs = ls::normal({count, 6}, ls::DType::float32, generator);
    Indices labels;
    for (std::int64_t i = 0; i < count; ++i) labels.push_back(i % 4);
    const TensorDataset dataset(inputs, ls::tensor(labels, {count}));
    const auto whole = add_up(model, {inputs, dataset.targets(), count}, {});

    const ls::NoGrad no_grad;
    Evaluation own;
    DataLoader loader(dataset, env, {.batch_size_per_rank = 4, .partition = Partition::exact});
    for (const auto& batch : loader.epoch()) own = add_up(model, batch, own);
    auto sums = ls::tensor({own.loss, own.correct, own.samples}, {3});
    env.ranks().all_reduce(sums).wait();

    const auto all = sums.to_vector<double>();
    CHECK(all[0] == Approx(whole.loss).epsilon(1e-5));
    CHECK(all[1] == whole.correct);
    CHECK(all[2] == static_cast<double>(count));
  }
}

TEST_CASE("A mean over ranks that counts each rank's samples is no NaN where a rank has none") {
  auto& env = test_environment();
  const auto dataset = numbers(1);
  DataLoader loader(dataset, env, {.batch_size_per_rank = 4, .partition = Partition::exact});
  CHECK(loader.sample_count() == (env.is_root() ? 1 : 0));
  double sum = 0;
  double count = 0;
  for (const auto& batch : loader.epoch()) {
    sum += static_cast<double>(batch.inputs.item<std::int64_t>()) + 2;
    count += static_cast<double>(batch.size);
  }
  auto sums = ls::tensor({sum, count}, {2});
  env.ranks().all_reduce(sums).wait();
  CHECK(sums.to_vector<double>() == std::vector<double>{2, 1});
}
