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

std::string train(bool scoped) {
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
  for (int i = 0; i < 3; ++i) {
    const ls::Tensor x = ls::uniform({4, 6}, -1, 1, ls::DType::float32, generator);
    const ls::Tensor y = replica(x.to(env.device()));
    adam.zero_grad();
    ls::mean(y * y).backward();
    adam.step();
  }
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
