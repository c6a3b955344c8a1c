// Every event wait of a training step is needed: each is dropped in turn, and then some order of
// the streams must give other weights. A wait that can be dropped unseen has no place in the
// library.
#include <catch2/catch.hpp>

#include <chrono>
#include <string>

#include <lockstep/lockstep.hpp>

#include "comm/nccl/monitor.hpp"
#include "distributed/models.hpp"
#include "emulation/control.hpp"

namespace ls = lockstep;

namespace {

constexpr std::uint64_t kSeeds = 24;  // orders of the streams with all waits in place
// Until the loss of a wait shows. What is complete when it is asked for needs no wait, and that
// depends on time.
constexpr std::uint64_t kTries = 400;

struct Result {
  std::string weights;
  std::int64_t first_wait = 0;  // of the steps: making a replica also waits for the device
  std::int64_t waits = 0;

  bool operator==(const Result& other) const { return weights == other.weights; }
};

Result train(ls::SumOrder order, bool captured) {
  ls::Environment& env = test_environment();
  env.seed(5);
  ls::nn::Sequential model{ls::nn::Linear{7, 9}, ls::nn::ReLU{}, ls::nn::Linear{9, 3}};
  ls::DataParallel replica{
      model, env, {.bucket_bytes = 200, .first_bucket_bytes = 100, .order = order}};
  Result result;
  result.first_wait = emulation::event_wait_count();
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 0.1, .momentum = 0.9}};
  ls::Generator generator(100 + static_cast<std::uint64_t>(env.rank()));
  ls::CapturedStep step{[&](const ls::Tensor& x) {
                          const ls::Tensor y = replica(x);
                          const ls::Tensor loss = ls::mean(y * y);
                          sgd.zero_grad();
                          loss.backward();
                          ls::optim::clip_gradient_norm(replica.parameters(), 1);
                          sgd.step();
                          return loss;
                        },
                        {.warm_up = 1, .enabled = captured}};
  for (int i = 0; i < 4; ++i)
    step(ls::uniform({2, 7}, -1, 1, ls::DType::float32, generator).to(env.device()));
  try {
    result.weights = models::weight_bytes(replica.parameters());
  } catch (const ls::InvalidUsage& error) {
    result.weights = error.what();  // the device found nonsense in what the ranks told each other
  }
  result.waits = emulation::event_wait_count();
  return result;
}

/// With the stand-in as it is after `set`.
template <class Set>
Result train_with(std::uint64_t seed, ls::SumOrder order, bool captured, Set set) {
  emulation::reset();
  emulation::set_seed(seed);
  set();
  return train(order, captured);
}

/// What the root says: its waits are dropped.
std::int64_t of_root(std::int64_t value) {
  return std::stoll(test_environment().ranks().gather_bytes(std::to_string(value))[0]);
}

/// With all waits in place. Returns what it gives.
Result check_orders(ls::SumOrder order, bool captured) {
  // A look at an event lets the stand-in run what comes before it.
  ls::detail::nccl::set_monitor_interval(std::chrono::hours{1});
  const auto nothing = [] {};
  const Result reference = train_with(0, order, captured, nothing);
  for (std::uint64_t seed = 1; seed < kSeeds; ++seed) {
    INFO("seed " << seed);
    REQUIRE(train_with(seed, order, captured, nothing) == reference);
  }
  return reference;
}

void check_waits(ls::SumOrder order) {
  ls::Environment& env = test_environment();
  const Result reference = check_orders(order, false);
  const std::int64_t first = of_root(reference.first_wait);
  const std::int64_t waits = of_root(reference.waits);
  REQUIRE(waits - first >= 8);
  for (std::int64_t wait = first; wait < waits; ++wait) {
    bool seen = false;
    bool dropped = false;  // how many there are depends on what is complete when it is asked
    for (std::uint64_t seed = 0; seed < kTries && !seen; ++seed) {
      const Result result = train_with(seed, order, false, [&] {
        if (env.is_root()) emulation::drop_event_wait(wait);
      });
      dropped = dropped || of_root(result.waits) > wait;
      seen = !env.ranks().agree(result == reference);
    }
    INFO("event wait " << wait << " of " << first << " to " << waits);
    CHECK((seen || !dropped));
  }
  emulation::reset();
}

}  // namespace

TEST_CASE("each event wait of training is needed") { check_waits(ls::SumOrder::fastest); }

TEST_CASE("each event wait of sums in rank order is needed") { check_waits(ls::SumOrder::ranks); }

// A wait that is left out of a capture is refused by CUDA itself.
TEST_CASE("a captured step gives the same weights in every order of the streams") {
  check_orders(ls::SumOrder::fastest, true);
}
