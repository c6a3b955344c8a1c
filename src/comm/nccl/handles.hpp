// Owners of the CUDA handles that a communicator holds, and what a call changes for its own time.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "backend/backend.hpp"
#include "comm/nccl/nccl_call.hpp"

namespace lockstep::inline v0::detail::nccl {

/// This thread's current device, until it is put back.
class DeviceGuard {
 public:
  explicit DeviceGuard(int index) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (index == before_) return;
    check(cudaSetDevice(index), "cudaSetDevice");
    changed_ = true;
  }
  ~DeviceGuard() {
    if (changed_ && backend::cuda_puts_back(before_)) (void)cudaSetDevice(before_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// Lets this thread ask for events while another one captures a graph.
class CaptureGuard {
 public:
  CaptureGuard() noexcept { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~CaptureGuard() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  CaptureGuard(const CaptureGuard&) = delete;
  CaptureGuard& operator=(const CaptureGuard&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Of the device that is current when it is made.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate"); }
  ~Event() {
    if (event_ != nullptr) (void)cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  void order(cudaStream_t after) const {
    check(cudaStreamWaitEvent(after, event_, 0), "cudaStreamWaitEvent");
  }
  /// cudaSuccess, cudaErrorNotReady, or an error.
  cudaError_t query() const noexcept { return cudaEventQuery(event_); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Of the highest priority: a collective that waits for a free processor makes all ranks wait.
class Stream {
 public:
  Stream() {
    int least = 0;
    int greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
          "cudaStreamCreateWithPriority");
  }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t handle() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace lockstep::inline v0::detail::nccl
