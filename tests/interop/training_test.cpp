// A replica that is made and trained on the program's stream.
#include <catch2/catch.hpp>

#include <optional>
#include <string>

#include <lockstep/interop/cuda.hpp>
#include <lockstep/lockstep.hpp>

#include "distributed/models.hpp"
#include "interop/orders.hpp"
#include "interop/program.hpp"

namespace ls = lockstep;

namespace {

constexpr int kSteps = 5;

std::string train(bool scoped, bool captured = false) {
  ls::Environment& env = test_environment();
  const int index = env.device().index;
  const program::Stream stream(index);
  env.seed(3);
  ls::nn::Sequential model{ls::nn::Linear{6, 8}, ls::nn::ReLU{}, ls::nn::Linear{8, 2}};
  std::optional<ls::cuda::StreamScope> scope;
  if (scoped) scope.emplace(stream, index);
  ls::DataParallel replica{model, env};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 0.1}};
  ls::Generator generator(7 + static_cast<std::uint64_t>(env.rank()));
  ls::CapturedStep step{[&](const ls::Tensor& x) {
                          const ls::Tensor y = replica(x);
                          ls::Tensor loss = ls::mean(y * y);
                          adam.zero_grad();
                          loss.backward();
                          adam.step();
                          return loss;
                        },
                        {.enabled = captured}};
  for (int i = 0; i < kSteps; ++i)
    step(ls::uniform({4, 6}, -1, 1, ls::DType::float32, generator).to(env.device()));
  CHECK(step.replay_count() == (captured ? kSteps - 2 : 0));
  scope.reset();
  return models::weight_bytes(replica.parameters());
}

}  // namespace

TEST_CASE("training on the program's stream gives the weights of training on lockstep's own") {
  const std::string expected = train(false);
  for (std::uint64_t seed = 0; seed < orders::count(); ++seed) {
    INFO("seed " << seed);
    orders::choose(seed);
    REQUIRE(train(true) == expected);
  }
  orders::choose(0);
}

TEST_CASE("a step that is recorded on the program's stream is replayed there") {
  const std::string expected = train(false);
  for (std::uint64_t seed = 0; seed < orders::count(); ++seed) {
    INFO("seed " << seed);
    orders::choose(seed);
    REQUIRE(train(true, true) == expected);
  }
  orders::choose(0);
}
