// What a training step costs and leaves behind, as the stand-in counts it.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <optional>

#include "backend/backend.hpp"
#include "emulation/control.hpp"
#include "parity/training.hpp"

using namespace parity;

namespace {

namespace backend = lockstep::backend;

/// A network with its optimizer; a step reads nothing back.
class Training {
 public:
  explicit Training(ls::Device device)
      : device_(device),
        network_(make_network(device, ls::DType::float32)),
        optimizer_(ls::parameters(network_), {.learning_rate = 1e-2}) {}

  ls::Tensor step(std::int64_t number) {
    const auto batch = batch_of(number, device_, ls::DType::float32);
    const ls::Tensor hidden = ls::dropout(network_(batch.inputs, number % 3 == 0), 0.1);
    ls::Tensor loss = ls::cross_entropy(hidden, batch.targets);
    optimizer_.zero_grad();
    loss.backward();
    ls::optim::clip_gradient_norm(optimizer_.parameters(), 1.0);
    optimizer_.step();
    return loss;
  }

 private:
  ls::Device device_;
  Network network_;
  ls::optim::AdamW optimizer_;
};

/// Runs the step that is asked for and reads its loss, so that the device has come to its end.
void warm_up(Training& training) {
  for (int step = 0; step < 6; ++step) static_cast<void>(training.step(step).item());
}

std::int64_t calls(const char* name) { return emulation::call_count(name); }

}  // namespace

TEST_CASE("after the first steps a step takes no memory and does not wait for the device") {
  Training training(kCuda);
  warm_up(training);
  const backend::Memory& memory = backend::cuda_backend(0).memory;
  const auto requests = memory.counters().system_requests;
  const auto in_use = memory.counters().bytes_in_use;
  for (int step = 6; step < 18; ++step) {
    const auto before = emulation::counters();
    const auto queries = calls("cudaStreamQuery");
    const auto pinned = calls("cudaHostAlloc");
    std::optional<ls::Tensor> loss = training.step(step);
    const auto after = emulation::counters();
    CHECK(after.host_synchronizations == before.host_synchronizations);
    CHECK(after.device_synchronizations == before.device_synchronizations);
    CHECK(after.allocations == before.allocations);
    CHECK(calls("cudaStreamQuery") == queries);
    CHECK(calls("cudaHostAlloc") == pinned);
    if (step < 9)
      std::printf("kernel launches of step %d: %lld\n", step,
                  static_cast<long long>(after.kernel_launches - before.kernel_launches));
    CHECK(std::isfinite(loss->item()));
    loss.reset();
    CHECK(memory.counters().bytes_in_use == in_use);
  }
  CHECK(memory.counters().system_requests == requests);
}

TEST_CASE("a step leaves no handle behind, and nothing is written beside an allocation") {
  Training training(kCuda);
  warm_up(training);
  const auto before = emulation::live_objects();
  for (int step = 6; step < 36; ++step) static_cast<void>(training.step(step).item());
  const auto after = emulation::live_objects();
  CHECK(after.streams == before.streams);
  CHECK(after.events == before.events);
  CHECK(after.handles == before.handles);
  CHECK(after.pinned_buffers == before.pinned_buffers);
  CHECK(after.allocations == before.allocations);
  backend::cuda_backend(0).memory.trim();
  CHECK(emulation::counters().guard_violations == 0);
}

TEST_CASE("what was trained, read and released on CUDA gives all its memory back") {
  const backend::Memory& memory = backend::cuda_backend(0).memory;
  const auto in_use = memory.counters().bytes_in_use;
  {
    Training training(kCuda);
    warm_up(training);
    CHECK(memory.counters().bytes_in_use > in_use);
  }
  CHECK(memory.counters().bytes_in_use == in_use);
}

TEST_CASE("steps in any order of the streams have the same bits") {
  std::vector<float> first;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    emulation::set_seed(seed);
    ls::default_generator() = ls::Generator{5};
    Training training(kCuda);
    std::vector<float> losses;
    for (int step = 0; step < 5; ++step) losses.push_back(training.step(step).item<float>());
    if (first.empty()) first = losses;
    CHECK(same(first, losses));
  }
}
