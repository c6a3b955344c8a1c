// Each call of CUDA, cuBLAS and NCCL in a training program fails once, from the construction of the
// replica to its destruction: the program gets an exception that says so, whatever it owned is
// given back, and the same program runs afterwards.
//
// What lockstep keeps for each device by design, and so is there before and after: its stream, its
// cuBLAS handle and the plans of products (by shape), a word of status, free pinned blocks with an
// event each. Free device memory is kept as well, until it is trimmed.
#include "distributed/failing_calls.hpp"

using namespace failing;

namespace {

constexpr int kCode = 3;  // cudaErrorInitializationError, CUBLAS_STATUS_ALLOC_FAILED, internal

/// How many objects of cuBLAS a program of a new size makes, and keeps.
std::int64_t handles_per_size(ls::Environment& env) {
  train(env, fresh_size(), false);  // makes what the device keeps
  const std::int64_t before = blas_handles();
  train(env, fresh_size(), false);
  return blas_handles() - before;
}

void require_right_kind(const Outcome& outcome, bool captured) {
  const std::string& call = outcome.failed_call;
  INFO(outcome.kind << ": " << outcome.text);
  if (outcome.kind.empty()) {
    // The destructor of a recording asks again.
    REQUIRE((may_be_quiet(call) || (captured && call == "cudaStreamQuery")));
    return;
  }
  REQUIRE(outcome.code == kCode);
  if (begins_with(call, "nccl"))
    REQUIRE(outcome.kind == "CommunicationError");
  else if (begins_with(call, "cublas"))
    REQUIRE(outcome.kind == "DeviceError");
  else
    REQUIRE(outcome.text.find("cudaErrorInitializationError") != std::string::npos);
}

/// The n-th call of a program fails. False if it has fewer.
bool fails_as_it_should(ls::Environment& env, std::int64_t n, bool captured, std::int64_t handles) {
  for (int attempt = 0;; ++attempt) {
    const Size size = fresh_size();
    const Left before(env.device());
    const std::int64_t handles_before = blas_handles();
    const Outcome outcome = outcome_of([&] { emulation::fail_call(n, kCode); },
                                       [&] { return train(env, size, captured); });
    if (outcome.failed_call.empty()) return false;
    INFO("call " << n << ", " << outcome.failed_call);
    require_right_kind(outcome, captured);
    const std::string weights = train(env, size, captured);
    if (outcome.kind.empty()) REQUIRE(outcome.weights == weights);
    if (is_release(outcome.failed_call)) return true;
    REQUIRE(blas_handles() == handles_before + handles);
    const Left after(env.device());
    if (!after.exceeds(before)) return true;
    // Only what grows again and again is lost.
    INFO(outcome.kind << ": " << outcome.text);
    INFO("before: " << before.text() << "; after: " << after.text());
    REQUIRE(attempt < 3);
  }
}

/// Each allocation of memory fails with "out of memory": twice in a row, because the first one
/// gives the free memory back and tries again.
void check_allocations(const std::string& call) {
  ls::Environment& env = test_environment();
  train(env, fresh_size(), true);
  const auto fails = [&](std::int64_t n) {
    const Size size = fresh_size();
    trimmed(env.device());
    const Outcome outcome = outcome_of(
        [&] {
          emulation::fail_call(call, n, cudaErrorMemoryAllocation);
          emulation::fail_call(call, n + 1, cudaErrorMemoryAllocation);
        },
        [&] { return train(env, size, true); });
    if (outcome.failed_call.empty()) return false;
    INFO(call << " " << n << ": " << outcome.kind << ": " << outcome.text);
    if (outcome.kind.empty()) {
      REQUIRE(outcome.weights == train(env, size, true));
    } else {
      REQUIRE(outcome.kind == "DeviceError");
      REQUIRE(outcome.code == cudaErrorMemoryAllocation);
      REQUIRE(outcome.text.find(" bytes") != std::string::npos);
      REQUIRE(outcome.text.find("out of memory") != std::string::npos);
    }
    return true;
  };
  std::int64_t n = 1;
  while (fails(n)) ++n;
  REQUIRE(n > 1);
}

/// A loss of labels, which needs the device's word of status.
std::string use(ls::Device device) {
  const ls::Tensor x = ls::full({2, 3}, 1.5).to(device);
  const ls::Tensor weight = ls::full({4, 3}, 0.5).to(device);
  const ls::Tensor y = ls::linear(x, weight);
  const ls::Tensor labels = ls::tensor(std::vector<std::int64_t>{1, 3}, {2}).to(device);
  return std::to_string(ls::cross_entropy(y, labels).item<double>());
}

/// The n-th call of the first use of a device fails. False if it has fewer.
bool first_use_fails(ls::Device device, std::int64_t n, const std::string& result, const Left& kept,
                     std::int64_t handles) {
  const Left before(test_environment().device());
  const std::int64_t handles_before = blas_handles();
  const Outcome outcome =
      outcome_of([&] { emulation::fail_call(n, kCode); }, [&] { return use(device); });
  if (outcome.failed_call.empty()) return false;
  INFO("call " << n << ", " << outcome.failed_call << ", " << outcome.text);
  if (outcome.failed_call == "cudaGetDeviceCount")  // also asked for by cuBLAS
    REQUIRE(!outcome.kind.empty());
  else
    require_right_kind(outcome, false);
  REQUIRE(use(device) == result);
  if (is_release(outcome.failed_call)) return true;
  REQUIRE(blas_handles() == handles_before + handles);
  const Left after(device);
  INFO("kept: " << kept.text() << "; before: " << before.text() << "; after: " << after.text());
  REQUIRE(after.allocations == before.allocations + kept.allocations);
  // How many blocks are in use at a time depends on how far the device is.
  REQUIRE(after.pinned <= before.pinned + kept.pinned + 2);
  REQUIRE(after.streams == before.streams + kept.streams);
  REQUIRE(after.events - after.pinned == before.events - before.pinned);
  return true;
}

void check_all_calls(bool captured) {
  ls::Environment& env = test_environment();
  const std::int64_t handles = handles_per_size(env);
  REQUIRE(handles >= 4);
  std::int64_t n = 1;
  while (fails_as_it_should(env, n, captured, handles)) ++n;
  env.print(std::to_string(n - 1) + " calls");
  REQUIRE(n > 300);
}

}  // namespace

TEST_CASE("each call of a training program fails once") { check_all_calls(false); }

TEST_CASE("each call of a program that records its step fails once") { check_all_calls(true); }

TEST_CASE("each call of the first use of a device fails once") {
  const ls::Device own = test_environment().device();
  use(own);
  const Left before(own);
  const std::int64_t handles_before = blas_handles();
  const std::string result = use(ls::Device::cuda(1));
  Left kept(ls::Device::cuda(1));
  const std::int64_t handles = blas_handles() - handles_before;
  kept.allocations -= before.allocations;
  kept.pinned -= before.pinned;
  kept.streams -= before.streams;
  int n = 1;
  while (first_use_fails(ls::Device::cuda(1 + n), n, result, kept, handles)) ++n;
  REQUIRE(n > 50);
}

TEST_CASE("memory that cannot be had is told with its bytes") {
  check_allocations("cudaMalloc");
  const Outcome pinned =
      outcome_of([] { emulation::fail_call("cudaHostAlloc", 1, cudaErrorMemoryAllocation); },
                 [] { return use(ls::Device::cuda(127)); });
  INFO(pinned.text);
  REQUIRE(pinned.kind == "DeviceError");
  REQUIRE(pinned.text.find("cudaHostAlloc of 4096 bytes on cuda:127: out of memory") !=
          std::string::npos);
}

// As after an illegal address: every call fails from then on, those of destructors included.
TEST_CASE("a dead context is told by the next call, and destructors are quiet") {
  ls::Environment& env = test_environment();
  const Size size = fresh_size();
  const std::string weights = train(env, size, false);
  for (const bool captured : {false, true})
    for (int step = 0; step < kSteps; ++step) {
      const Outcome outcome = outcome_of([] {},
                                         [&] {
                                           return train(env, size, captured, [&](int i) {
                                             if (i == step)
                                               emulation::poison_context(cudaErrorIllegalAddress);
                                           });
                                         });
      INFO("step " << step << ": " << outcome.kind << ": " << outcome.text);
      REQUIRE(outcome.kind == "DeviceError");
      REQUIRE(outcome.code == cudaErrorIllegalAddress);
      REQUIRE(outcome.text.find("cudaErrorIllegalAddress") != std::string::npos);
      REQUIRE(train(env, size, captured) == weights);
    }
}
