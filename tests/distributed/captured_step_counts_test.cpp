// What a replayed step asks of the device, as the stand-in counts it.
#include <catch2/catch.hpp>

#include <lockstep/lockstep.hpp>

#include "emulation/control.hpp"
#include "support/test_environment.hpp"

namespace ls = lockstep;

TEST_CASE("a replayed step is one launch, and the host waits for nothing") {
  ls::Environment& env = test_environment();
  ls::nn::Sequential model{ls::nn::Linear{8, 16}, ls::nn::ReLU{}, ls::nn::Linear{16, 3}};
  ls::DataParallel replica{model, env};
  ls::optim::Adam adam{replica.parameters(), {}};
  const ls::Tensor x = ls::full({4, 8}, 0.5, ls::DType::float32, env.device());
  ls::CapturedStep step{[&](const ls::Tensor& inputs) {
    const ls::Tensor loss = ls::mean(replica(inputs));
    adam.zero_grad();
    loss.backward();
    ls::optim::clip_gradient_norm(replica.parameters(), 1);
    adam.step();
    return loss;
  }};
  for (int i = 0; i < 3; ++i) step(x);
  REQUIRE(step.replay_count() == 1);
  const emulation::Counters before = emulation::counters();
  const emulation::LiveObjects live_before = emulation::live_objects();
  ls::Tensor loss;
  for (int i = 0; i < 5; ++i) loss = step(x);
  const emulation::Counters after = emulation::counters();
  CHECK(step.replay_count() == 6);
  CHECK(after.graph_launches - before.graph_launches == 5);
  CHECK(after.kernel_launches == before.kernel_launches);
  CHECK(after.host_synchronizations == before.host_synchronizations);
  CHECK(after.allocations == before.allocations);
  loss.item();
  CHECK(emulation::counters().kernel_runs > before.kernel_runs);
  const emulation::LiveObjects live_after = emulation::live_objects();
  static_cast<void>(step(x).item());  // nothing runs before somebody waits for it
  CHECK(emulation::counters().kernel_runs > before.kernel_runs);
  CHECK(live_after.streams == live_before.streams);
  CHECK(live_after.graphs == live_before.graphs);
}

TEST_CASE("buckets lie in memory that NCCL knows, until the replica goes away") {
  ls::Environment& env = test_environment();
  const std::int64_t registered = emulation::call_count("ncclCommRegister");
  const std::int64_t given_back = emulation::call_count("ncclCommDeregister");
  {
    ls::nn::Sequential model{ls::nn::Linear{8, 16}, ls::nn::ReLU{}, ls::nn::Linear{16, 3}};
    ls::DataParallel replica{model, env, {.bucket_bytes = 400, .first_bucket_bytes = 200}};
    const ls::Tensor x = ls::full({4, 8}, 0.5, ls::DType::float32, env.device());
    ls::mean(replica(x)).backward();
    replica.wait();
    CHECK(env.device() == x.device());
    CHECK(ls::mean(x).item() == 0.5);  // all has run
    const std::int64_t buckets = env.size() == 1 ? 0 : replica.bucket_count();
    CHECK(emulation::call_count("ncclCommRegister") - registered == buckets);
  }
  CHECK(emulation::call_count("ncclCommDeregister") - given_back ==
        emulation::call_count("ncclCommRegister") - registered);
}

TEST_CASE("a captured step that goes away gives back what it had") {
  ls::Environment& env = test_environment();
  const auto run = [&] {
    ls::CapturedStep step{[](const ls::Tensor& x) { return ls::sum(ls::relu(x + x)); }};
    const ls::Tensor x = ls::full({50}, 0.5, ls::DType::float32, env.device());
    for (int i = 0; i < 4; ++i) CHECK(step(x).item() == 50);
  };
  run();
  const emulation::LiveObjects before = emulation::live_objects();
  for (int i = 0; i < 3; ++i) run();
  const emulation::LiveObjects after = emulation::live_objects();
  CHECK(after.graphs == before.graphs);
  CHECK(after.allocations == before.allocations);
  CHECK(after.events == before.events);
}
