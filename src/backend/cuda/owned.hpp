// Owning types for CUDA handles: move-only, released once, on the device that they belong to.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "backend/cuda/call.hpp"

namespace lockstep::inline v0::backend::cuda {

template <class Handle, auto kDestroy>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) noexcept : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Handle{}) static_cast<void>(kDestroy(handle_));
  }

  Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Handle{}; }

 private:
  Handle handle_{};
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;

enum class StreamPriority { normal, high };

/// A stream of the current device that does not wait for the legacy default stream.
Stream make_stream(StreamPriority priority = StreamPriority::normal);
/// An event of the current device, without a time.
Event make_event();

}  // namespace lockstep::inline v0::backend::cuda
