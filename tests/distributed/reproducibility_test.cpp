// The same seed on the same number of ranks gives the same bits, every time and on every rank.
#include <catch2/catch.hpp>

#include <lockstep/data/dataset.hpp>
#include <lockstep/data/loader.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;

namespace {

struct Run {
  std::string weights;
  std::vector<float> losses;
};

Run train(std::uint64_t seed, ls::SumOrder order) {
  ls::Environment& env = test_environment();
  env.seed(seed);
  ls::nn::Sequential model{ls::nn::Linear{33, 65}, ls::nn::ReLU{}, ls::nn::Linear{65, 7}};
  ls::DataParallel replica{
      model, env, {.bucket_bytes = 1000, .first_bucket_bytes = 100, .order = order}};
  ls::optim::AdamW adam{replica.parameters(), {.learning_rate = 0.01}};
  const ls::data::TensorDataset dataset{ls::randn({90, 33})};
  ls::data::DataLoader loader{dataset, env, {.batch_size_per_rank = 4, .shuffle = true}};
  Run run;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& batch : loader.epoch(epoch)) {
      const ls::Tensor y = replica(batch.inputs);
      const ls::Tensor loss = ls::mean(y * y);
      adam.zero_grad();
      loss.backward();
      ls::optim::clip_gradient_norm(replica.parameters(), 0.5);
      adam.step();
      run.losses.push_back(loss.item());
    }
  run.weights = models::weight_bytes(replica.parameters());
  return run;
}

}  // namespace

TEST_CASE("a run repeats bit by bit, and all ranks hold the same bits") {
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
    const Run first = train(1, order);
    const Run second = train(1, order);
    CHECK(first.weights == second.weights);
    CHECK(first.losses == second.losses);
    CHECK(models::same_on_all_ranks(first.weights));
  }
}

TEST_CASE("another seed gives another run") {
  CHECK(train(1, ls::SumOrder::fastest).weights != train(2, ls::SumOrder::fastest).weights);
}

TEST_CASE("ranks start from the same weights although each has its own seed") {
  ls::Environment& env = test_environment();
  env.seed(100 + static_cast<std::uint64_t>(env.rank()));
  auto model = models::small_network();
  const ls::DataParallel replica{model, env};
  CHECK(models::same_on_all_ranks(models::weight_bytes(replica.parameters())));
}
