// What happens when a collective on GPUs fails on one rank, on all, or never ends: an exception on
// every rank, in time, that names it; and no NCCL communicator left.
#include <catch2/catch.hpp>

#include <nccl.h>

#include <chrono>
#include <optional>

#include <lockstep/core/error.hpp>
#include <lockstep/parallel/gradient_synchronizer.hpp>

#include "backend/backend.hpp"
#include "comm/device_plane.hpp"
#include "device_values.hpp"
#include "emulation/control.hpp"
#include "emulation/nccl_control.hpp"

using namespace test;
using namespace std::chrono_literals;

namespace {

/// A communicator of its own, which has made one collective on GPUs.
ls::Communicator connected() {
  const ls::Communicator ranks = test_environment().ranks().duplicate();
  ranks.all_reduce(ls::zeros({1}, ls::DType::float32, test_environment().device())).wait();
  return ranks;
}

/// Sums three elements and reads the result back.
void sum(const ls::Communicator& ranks, std::int64_t count = 3) {
  const ls::Tensor values = ls::full({count}, 1, ls::DType::float32, test_environment().device());
  ranks.all_reduce(values).wait();
  if (values.to_vector<float>()[0] != static_cast<float>(ranks.size()))
    throw ls::Error("a collective that failed gave a result");
}

/// What `body` throws.
std::optional<ls::CommunicationError> failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const ls::CommunicationError& error) {
    return error;
  }
  return std::nullopt;
}

/// All ranks: the same rank's failure, and the communicator is dead.
void require_dead(const ls::Communicator& ranks, const std::optional<ls::CommunicationError>& error,
                  const std::vector<std::string>& parts) {
  REQUIRE(error);
  INFO(error->what());
  for (const std::string& part : parts)
    REQUIRE(std::string(error->what()).find(part) != std::string::npos);
  const auto again = failure_of([&] { sum(ranks); });
  REQUIRE(again);
  REQUIRE(std::string(again->what()) == error->what());
  test_environment().ranks().barrier();
  // The communicator's own one was aborted; nobody else's was.
  sum(test_environment().ranks());
}

bool last_rank() { return test_environment().rank() == test_environment().size() - 1; }
std::string last_rank_text() { return "rank " + std::to_string(test_environment().size() - 1); }

}  // namespace

TEST_CASE("an error that NCCL reports later reaches every rank, with the collective's name") {
  const ls::Communicator ranks = connected();
  emulation::fail_nccl_later(ranks.size() - 1, 3);
  const auto error = failure_of([&] {
    for (int step = 0; step < 10; ++step) {
      ranks.set_step(step);
      sum(ranks);
    }
  });
  emulation::fail_nccl_later(-1, 0);
  require_dead(
      ranks, error,
      {"[nccl] all_reduce of 3 float32 at step 2 on " + last_rank_text(), "ncclSystemError"});
  REQUIRE(error->code() == ncclSystemError);
  REQUIRE(error->rank() == ranks.size() - 1);
}

TEST_CASE("a call that NCCL refuses to make on one rank fails on every rank") {
  const ls::Communicator ranks = connected();
  if (last_rank()) emulation::fail_call("ncclAllReduce", 1, ncclInternalError);
  const auto error = failure_of([&] { sum(ranks); });
  require_dead(ranks, error,
               {"[nccl] all_reduce of 3 float32", last_rank_text(), "ncclInternalError"});
}

// NCCL remembers it as the communicator's state, so nothing more can be asked of it.
TEST_CASE("an argument that NCCL refuses on one rank fails on every rank") {
  const ls::Communicator ranks = connected();
  if (last_rank()) emulation::fail_call("ncclAllReduce", 1, ncclInvalidArgument);
  const auto error = failure_of([&] { sum(ranks); });
  require_dead(ranks, error,
               {"[nccl] all_reduce of 3 float32", last_rank_text(), "ncclInvalidArgument"});
}

TEST_CASE("nobody waits for an abort that does not return") {
  const ls::Communicator ranks = connected();
  ranks.set_timeout(1s);
  emulation::hold_nccl_aborts(true);
  std::optional<ls::CommunicationError> error;
  if (!last_rank()) error = failure_of([&] { sum(ranks); });
  test_environment().ranks().barrier();
  if (last_rank()) error = failure_of([&] { sum(ranks); });
  require_dead(ranks, error,
               {"[nccl] all_reduce of 3 float32", last_rank_text() + " did not arrive"});
  emulation::hold_nccl_aborts(false);
}

TEST_CASE("a synchronizer that broke off on one rank goes no further on any") {
  const ls::Communicator ranks = test_environment().ranks().duplicate();
  ranks.set_timeout(1s);
  ls::GradientSynchronizer synchronizer{ranks};
  const ls::Device device = test_environment().device();
  const ls::Tensor near = ls::full({3}, 1, ls::DType::float32, device);
  const ls::Tensor far = ls::full({3}, 1, ls::DType::float32, device);
  const std::int64_t first = synchronizer.add("near", near);
  const std::int64_t second = synchronizer.add("far", far);
  synchronizer.commit();
  const auto step = [&] {
    synchronizer.ready(first);
    synchronizer.ready(second);
    synchronizer.finish();
    return near.to_vector();
  };
  REQUIRE(step() == std::vector<float>(3, 1));
  if (last_rank()) {
    synchronizer.ready(second);
    emulation::fail_call("cudaMemcpyAsync", 1, cudaErrorUnknown);  // into the bucket
    REQUIRE_THROWS_AS(synchronizer.ready(first), ls::DeviceError);
    REQUIRE_THROWS_WITH(synchronizer.finish(), Catch::Contains("make a new one"));
  } else {
    REQUIRE_THROWS_AS(step(), ls::CommunicationError);
  }
  test_environment().ranks().barrier();
}

TEST_CASE("a rank that does not come is named at the deadline") {
  const ls::Communicator ranks = connected();
  ranks.set_timeout(1s);
  std::optional<ls::CommunicationError> error;
  if (!last_rank()) error = failure_of([&] { sum(ranks); });
  test_environment().ranks().barrier();
  if (last_rank()) error = failure_of([&] { sum(ranks); });
  require_dead(ranks, error,
               {"[nccl] all_reduce of 3 float32", last_rank_text() + " did not arrive"});
}

TEST_CASE("a wait of the program's own for the GPU comes to an end as well") {
  const ls::Communicator ranks = connected();
  ranks.set_timeout(300ms);
  std::optional<ls::CommunicationError> error;
  if (!last_rank()) {
    const ls::Device device = test_environment().device();
    ranks.all_reduce(ls::zeros({3}, ls::DType::float32, device)).wait();
    const auto stream = static_cast<cudaStream_t>(ls::backend::current_queue(device).stream);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    error = failure_of([&] { sum(ranks); });
  }
  test_environment().ranks().barrier();
  if (last_rank()) error = failure_of([&] { sum(ranks); });
  require_dead(ranks, error, {"[nccl] all_reduce of 3 float32", ": on the device for "});
}

TEST_CASE("ranks that do not call the same are told what each called") {
  const ls::Communicator ranks = connected();
  const auto error = failure_of([&] { sum(ranks, last_rank() ? 4 : 3); });
  require_dead(ranks, error, {"mismatch", "all_reduce of 3 float32", "all_reduce of 4 float32"});
}

TEST_CASE("a connection that fails on one rank fails on every rank") {
  const ls::Communicator ranks = test_environment().ranks().duplicate();
  if (last_rank()) emulation::fail_call("ncclCommInitRankConfig", 1, ncclSystemError);
  const auto error = failure_of([&] { sum(ranks); });
  require_dead(ranks, error, {"[nccl] connect", last_rank_text(), "ncclSystemError"});
}

TEST_CASE("a failed communicator is aborted at once, and no other") {
  ls::detail::wait_for_nccl_aborts(10s);  // of other tests
  sum(test_environment().ranks());
  const auto before = emulation::live_handles("ncclComm");
  const ls::Communicator ranks = connected();
  REQUIRE(emulation::live_handles("ncclComm") == before + 1);
  if (last_rank()) emulation::fail_call("ncclAllReduce", 1, ncclInternalError);
  REQUIRE(failure_of([&] { sum(ranks); }));
  ls::detail::wait_for_nccl_aborts(10s);
  REQUIRE(emulation::live_handles("ncclComm") == before);
}

TEST_CASE("waiting for a work tells of a failure that came meanwhile") {
  const ls::Communicator ranks = connected();
  const ls::Tensor values = ls::zeros({3}, ls::DType::float32, test_environment().device());
  if (last_rank()) emulation::fail_call("ncclAllReduce", 2, ncclInternalError);
  const auto error = failure_of([&] {
    ls::Work first = ranks.all_reduce(values);
    ls::Work second = ranks.all_reduce(values);
    while (!second.done()) continue;
  });
  require_dead(ranks, error, {"ncclInternalError"});
}

TEST_CASE("communicators that are gone on all ranks do not pile up") {
  sum(connected());
  const auto before = emulation::live_handles("ncclComm");
  for (int round = 0; round < 4; ++round) {
    sum(connected());
    test_environment().ranks().barrier();  // the last one is given up everywhere
  }
  ls::detail::wait_for_nccl_aborts(10s);
  REQUIRE(emulation::live_handles("ncclComm") == before);
}
