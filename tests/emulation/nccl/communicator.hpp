// A communicator of the stand-in, as this process has it.
#pragma once

#include <nccl.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulation/nccl/segment.hpp"
#include "emulation/stream_queue.hpp"

namespace emulation::nccl {

/// Shared by the handle and the operations in streams, which may outlive it.
struct Communicator {
  int rank = 0;
  int size = 1;
  bool blocking = true;
  std::unique_ptr<Segment> segment;

  std::atomic<bool> aborted = false;
  std::atomic<int> error = ncclSuccess;  // found later; nothing moves from then on
  std::atomic<bool> stalled = false;
  std::atomic<int> in_flight = 0;             // operations in streams
  std::atomic<const void*> active = nullptr;  // operations run one after the other

  // Of the calling threads.
  std::mutex mutex;
  struct Launch {
    cudaStream_t stream;
    std::unique_ptr<Operation> operation;
  };
  std::vector<Launch> taken;  // by a call that returned ncclInProgress
  int progress_answers = 1;   // so often ncclInProgress is the answer yet
  bool connected = false;
  bool finalizing = false;
  bool told_finalized = false;
  std::int64_t calls = 0;
  std::map<void*, std::size_t> registered;
  std::string last_error;
};

/// What is to fail, from nccl_control.hpp and the environment.
struct LaterFailure {
  int rank = -1;
  std::int64_t after_calls = 0;
  int error = ncclSystemError;
};
LaterFailure later_failure();
bool reports_mismatch();
std::atomic<bool>& held_aborts();

/// Puts the operation into the stream, or keeps it until the caller has seen that it was taken.
ncclResult_t launch(Communicator& communicator, cudaStream_t stream,
                    std::unique_ptr<Operation> operation, int calls);
/// With the lock: where the communicator is with what it was asked to do.
ncclResult_t settle(Communicator& communicator);

}  // namespace emulation::nccl

struct ncclComm {
  std::shared_ptr<emulation::nccl::Communicator> state;
};
