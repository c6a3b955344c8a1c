// Each call of CUDA, cuBLAS and NCCL on the last rank fails once while several ranks train: that
// rank gets an exception that says so, the others get one or come to their end, nobody waits for a
// deadline, and whatever they owned is given back.
#include <mpi.h>
#include <nccl.h>

#include <chrono>

#include <lockstep/interop/mpi.hpp>

#include "distributed/failing_calls.hpp"

using namespace failing;

namespace {

constexpr int kCode = 3;  // cudaErrorInitializationError, CUBLAS_STATUS_ALLOC_FAILED, internal

bool last_rank() { return test_environment().rank() == test_environment().size() - 1; }

/// Trains in an environment of its own, because a failure is the end of one.
std::string train_apart(const Size& size, bool captured, const std::function<void()>& arm) {
  // A graph that is not given back keeps NCCL from its end, until the deadline.
  ls::Environment env = ls::mpi::environment(MPI_COMM_WORLD, {.timeout = std::chrono::seconds{20}});
  try {
    arm();
    std::string weights = train(env, size, captured);
    env.close();
    return weights;
  } catch (const std::exception& error) {
    env.ranks().announce_failure(error.what());
    throw;
  }
}

void require_right_kind(const Outcome& outcome, const std::string& call) {
  INFO(outcome.kind << ": " << outcome.text);
  REQUIRE(outcome.text.find("waited") == std::string::npos);
  if (outcome.kind.empty()) {
    REQUIRE((!last_rank() || may_be_quiet(call) || call == "cudaStreamQuery"));
    return;
  }
  // Ranks compare their devices, and all say which one has none.
  if (outcome.kind == "BackendUnavailable") {
    REQUIRE(outcome.text.find("rank 1 ") != std::string::npos);
    REQUIRE(outcome.text.find("cudaErrorInitializationError") != std::string::npos);
    if (begins_with(call, "cudaGetDeviceP"))
      REQUIRE(outcome.text.find("on cuda:1") != std::string::npos);
    return;
  }
  if (!last_rank()) {
    REQUIRE(outcome.kind == "CommunicationError");
    return;
  }
  if (begins_with(call, "cuda") && outcome.code == ncclUnhandledCudaError) return;  // NCCL's own
  REQUIRE(outcome.code == kCode);
  if (begins_with(call, "nccl"))
    REQUIRE(outcome.kind == "CommunicationError");
  else if (begins_with(call, "cublas"))
    REQUIRE(outcome.kind == "DeviceError");
  else
    REQUIRE(outcome.text.find("cudaErrorInitializationError") != std::string::npos);
}

/// All ranks. False if the last one has fewer calls.
bool fails_as_it_should(std::int64_t n, bool captured) {
  const ls::Communicator& ranks = test_environment().ranks();
  const ls::Device device = test_environment().device();
  for (int attempt = 0;; ++attempt) {
    const Size size = fresh_size();
    const Left before(device);
    const Outcome outcome = outcome_of([] {},
                                       [&] {
                                         return train_apart(size, captured, [&] {
                                           if (last_rank()) emulation::fail_call(n, kCode);
                                         });
                                       });
    const std::string call = ranks.gather_bytes(outcome.failed_call).back();
    if (call.empty()) return false;
    INFO("call " << n << ", " << call);
    require_right_kind(outcome, call);
    const std::string weights = train_apart(size, captured, [] {});
    if (outcome.kind.empty()) REQUIRE(outcome.weights == weights);
    if (is_release(call)) return true;
    const Left after(device);
    INFO(outcome.kind << ": " << outcome.text);
    INFO("before: " << before.text() << "; after: " << after.text());
    // Only what grows again and again is lost.
    if (ranks.agree(!after.exceeds(before))) return true;
    REQUIRE(attempt < 3);
  }
}

void check_all_calls(bool captured) {
  REQUIRE(test_environment().device().kind == ls::DeviceKind::cuda);
  ls::set_log_sink([](ls::LogLevel, std::string_view) {});  // each environment names its GPUs
  train_apart(fresh_size(), captured, [] {});
  std::int64_t n = 1;
  while (fails_as_it_should(n, captured)) ++n;
  ls::set_log_sink({});
  test_environment().print(std::to_string(n - 1) + " calls");
  REQUIRE(n > 300);
}

}  // namespace

TEST_CASE("each call on one rank of a training program fails once") { check_all_calls(false); }

TEST_CASE("each call on one rank of a program that records its step fails once") {
  check_all_calls(true);
}
