// What other stand-ins build on: operations of their own in the stand-in's streams, and the
// counting and failing of their calls.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <optional>

namespace emulation {

enum class Progress {
  done,
  waiting,  // a peer is not there yet: run() is called again later
};

// One operation in a stream. run() is called when everything before it in the stream is done,
// until it says done; never concurrently with another operation of this process, possibly from
// another thread at each call. It must not block, and must make no call of the runtime.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual Progress run() = 0;

  // The same operation, not begun: a graph keeps one and runs a clone at each launch.
  virtual std::unique_ptr<Operation> clone() const = 0;

  // Whether others wait for it, so that it must run soon even if this process does not ask for it.
  // A thread of the stand-in then drives the streams when nobody else did for some milliseconds.
  virtual bool has_peers() const { return false; }
};

// Queues the operation, or adds it to the graph that is being captured from the stream; nothing
// runs. The stream may belong to any device; nullptr is the current device's default stream.
// Errors: cudaErrorInvalidResourceHandle, and those of a capture that went wrong.
cudaError_t enqueue(cudaStream_t stream, std::unique_ptr<Operation> operation);

// To be called first by each function of a stand-in's interface. Counts the call by its name (a
// string literal); a value is the error code to return at once, because a test asked for it.
std::optional<int> count_call(const char* name);

// Live handles by kind (a string literal), as live_handles(kind) of control.hpp reports them.
void count_live(const char* kind, int change);

// Whether all of these bytes lie in one live allocation of device memory.
bool is_device_memory(const void* begin, std::size_t byte_count);

}  // namespace emulation
