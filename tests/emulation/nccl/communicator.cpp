#include "emulation/nccl/communicator.hpp"

#include <cstdio>
#include <cstdlib>

#include "emulation/nccl_control.hpp"

namespace emulation {
namespace nccl {
namespace {

struct Settings {
  std::mutex mutex;
  LaterFailure later;
  bool report_mismatch = false;
};

Settings& settings() {
  static auto* instance = [] {
    auto* made = new Settings;
    int rank = -1;
    long after = 0;
    int error = ncclSystemError;
    if (const char* text = std::getenv("EMULATED_NCCL_ASYNC_ERROR");
        text != nullptr && std::sscanf(text, "%d:%ld:%d", &rank, &after, &error) >= 2)
      made->later = {rank, after, error};
    const char* report = std::getenv("EMULATED_NCCL_REPORT_MISMATCH");
    made->report_mismatch = report != nullptr && *report == '1';
    return made;
  }();
  return *instance;
}

}  // namespace

LaterFailure later_failure() {
  const std::lock_guard lock(settings().mutex);
  return settings().later;
}

bool reports_mismatch() {
  const std::lock_guard lock(settings().mutex);
  return settings().report_mismatch;
}

namespace {

ncclResult_t put_into_streams(Communicator& communicator) {
  ncclResult_t result = ncclSuccess;
  for (auto& launch : communicator.taken)
    if (enqueue(launch.stream, std::move(launch.operation)) != cudaSuccess)
      result = ncclUnhandledCudaError;
  communicator.taken.clear();
  return result;
}

ncclResult_t connect(Communicator& communicator) {
  if (!communicator.segment->complete()) return ncclInProgress;
  const auto [first, second] = communicator.segment->duplicates();
  communicator.connected = true;
  if (first < 0) return ncclSuccess;
  communicator.last_error = "Duplicate GPU detected : rank " + std::to_string(first) +
                            " and rank " + std::to_string(second);
  communicator.stalled = true;
  communicator.error = ncclInvalidUsage;
  return ncclInvalidUsage;
}

}  // namespace

ncclResult_t launch(Communicator& communicator, cudaStream_t stream,
                    std::unique_ptr<Operation> operation, int calls) {
  const std::lock_guard lock(communicator.mutex);
  if (communicator.error != ncclSuccess)
    return static_cast<ncclResult_t>(communicator.error.load());
  if (!communicator.connected || communicator.progress_answers > 0 || communicator.finalizing) {
    communicator.last_error = "the communicator was used before the call before it was complete";
    return ncclInvalidArgument;
  }
  communicator.calls += calls;
  if (const LaterFailure later = later_failure();
      later.rank == communicator.rank && communicator.calls > later.after_calls) {
    communicator.stalled = true;
    communicator.error = later.error;
  }
  communicator.taken.push_back({stream, std::move(operation)});
  if (communicator.blocking) return put_into_streams(communicator);
  communicator.progress_answers = 1;
  return ncclInProgress;
}

ncclResult_t settle(Communicator& communicator) {
  if (communicator.progress_answers > 0) {
    --communicator.progress_answers;
    return ncclInProgress;
  }
  if (!communicator.connected) return connect(communicator);
  if (!communicator.taken.empty()) {
    if (const ncclResult_t result = put_into_streams(communicator); result != ncclSuccess)
      communicator.error = result;
  }
  if (communicator.error != ncclSuccess)
    return static_cast<ncclResult_t>(communicator.error.load());
  if (!communicator.finalizing) return ncclSuccess;
  if (communicator.in_flight == 0 && !communicator.told_finalized) {
    communicator.told_finalized = true;
    communicator.segment->finalize();
  }
  return communicator.segment->all_finalized() ? ncclSuccess : ncclInProgress;
}

std::atomic<bool>& held_aborts() {
  static std::atomic<bool> held = false;
  return held;
}

}  // namespace nccl

void fail_nccl_later(int rank, int after_calls, int error) {
  const std::lock_guard lock(nccl::settings().mutex);
  nccl::settings().later = {rank, after_calls, error};
}

void report_nccl_mismatch(bool report) {
  const std::lock_guard lock(nccl::settings().mutex);
  nccl::settings().report_mismatch = report;
}

void hold_nccl_aborts(bool hold) { nccl::held_aborts() = hold; }

}  // namespace emulation
