// Each call into CUDA and cuBLAS fails once: an exception reaches the caller, and nothing is lost.
#include <cuda_runtime_api.h>

#include <string>

#include "backend/backend.hpp"
#include "emulation/control.hpp"
#include "parity/training.hpp"

using namespace parity;

namespace {

namespace backend = lockstep::backend;

/// One step of a network of its own, of which everything is released at the end.
double one_step(std::int64_t rows) {
  ls::default_generator() = ls::Generator{3};
  Network network = make_network(kCuda, ls::DType::float32);
  ls::optim::Adam adam(ls::parameters(network));
  const auto batch = batch_of(rows, kCuda, ls::DType::float32);
  const ls::Tensor hidden = ls::dropout(network(batch.inputs, true), 0.2);
  const ls::Tensor loss = ls::cross_entropy(hidden, batch.targets);
  loss.backward();
  ls::optim::clip_gradient_norm(adam.parameters(), 0.1);
  adam.step();
  return loss.item() + ls::optim::gradient_norm(adam.parameters());
}

/// Leaves 64 MiB in the cache.
void memory_of_the_cache() { ls::empty({16 << 20}, ls::DType::float32, kCuda); }

/// Lets the n-th call of a step fail; false when the step has fewer calls.
bool fails_at(std::int64_t n, double expected) {
  emulation::fail_call(n, cudaErrorUnknown);
  bool failed = false;
  double found = expected;
  try {
    found = one_step(1);
  } catch (const ls::DeviceError& error) {
    failed = true;
    INFO(error.what());
    CHECK(std::string(error.what()).find("cuda:0") != std::string::npos);
  }
  emulation::reset();
  INFO("call " << n);
  CHECK(found == expected);
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 0);
  CHECK(one_step(1) == expected);
  return failed;
}

}  // namespace

TEST_CASE("whichever call fails, the step throws, gives its memory back and can be repeated") {
  const backend::Memory& memory = backend::cuda_backend(0).memory;
  const double expected = one_step(1);
  CHECK(one_step(1) == expected);
  const auto in_use = memory.counters().bytes_in_use;
  const auto events = emulation::live_objects().events;
  const auto handles = emulation::live_objects().handles;
  std::int64_t failures = 0;
  // Calls whose failure is survived (of a query, of a clean-up) do not end the loop.
  for (std::int64_t n = 1, survived = 0; survived < 60; ++n) {
    const bool failed = fails_at(n, expected);
    survived = failed ? 0 : survived + 1;
    failures += failed ? 1 : 0;
    INFO("call " << n);
    CHECK(memory.counters().bytes_in_use == in_use);
  }
  CHECK(failures > 100);
  CHECK(emulation::live_objects().events <= events + 8);  // of pinned blocks in flight
  CHECK(emulation::live_objects().handles == handles);
}

TEST_CASE("a product that could not be planned leaves no handle, and is planned the next time") {
  const auto product = [](std::int64_t rows) {
    const ls::Tensor a = ls::full({rows, 3}, 2, ls::DType::float32, kCuda);
    return ls::matmul(a, ls::full({3, 2}, 1, ls::DType::float32, kCuda)).to_vector();
  };
  static_cast<void>(product(200));
  const auto before = emulation::live_objects().handles;
  static_cast<void>(product(201));
  const auto each = emulation::live_objects().handles - before;
  std::int64_t failures = 0;
  for (std::int64_t n = 1; n <= 40; ++n) {
    const auto known = emulation::live_objects().handles;
    emulation::fail_call(n, cudaErrorUnknown);
    bool failed = false;
    try {
      static_cast<void>(product(300 + n));
    } catch (const ls::DeviceError&) {
      failed = true;
    }
    emulation::reset();
    CHECK(product(300 + n) == std::vector<float>(static_cast<std::size_t>(2 * (300 + n)), 6));
    failures += failed ? 1 : 0;
    INFO("call " << n);
    // A failure that is survived is that of a release.
    if (failed) CHECK(emulation::live_objects().handles == known + each);
  }
  CHECK(failures > 15);
}

TEST_CASE("where the device has no memory left the cache is given up, and then bytes are named") {
  const backend::Memory& memory = backend::cuda_backend(0).memory;
  memory_of_the_cache();
  const auto cached = memory.counters().bytes_cached;
  emulation::fail_call("cudaMalloc", 1, cudaErrorMemoryAllocation);
  CHECK_NOTHROW(ls::empty({3 << 20}, ls::DType::float32, kCuda));
  CHECK(memory.counters().bytes_cached < cached);
  emulation::reset();
  memory_of_the_cache();
  emulation::fail_call("cudaMalloc", 1, cudaErrorMemoryAllocation);
  emulation::fail_call("cudaMalloc", 2, cudaErrorMemoryAllocation);
  CHECK_THROWS_WITH(ls::empty({5 << 20}, ls::DType::float32, kCuda),
                    Catch::Contains("out of memory on cuda:0") && Catch::Contains("bytes in use"));
  emulation::reset();
  CHECK_NOTHROW(ls::empty({5 << 20}, ls::DType::float32, kCuda));
}
