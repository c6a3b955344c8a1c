// What a CUDA program has before lockstep comes: streams, device memory, pinned memory, and a
// current device.
#pragma once

#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <utility>
#include <vector>

namespace program {

inline void require(cudaError_t status) {
  INFO(cudaGetErrorString(status));
  REQUIRE(status == cudaSuccess);
}

inline int current_device() {
  int index = -1;
  require(cudaGetDevice(&index));
  return index;
}

/// Makes a device current, and the one before at its end.
class OnDevice {
 public:
  explicit OnDevice(int index) : before_(current_device()) { require(cudaSetDevice(index)); }
  ~OnDevice() { static_cast<void>(cudaSetDevice(before_)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

class Stream {
 public:
  explicit Stream(int device = 0) {
    const OnDevice on(device);
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { require(cudaStreamSynchronize(stream_)); }
  /// What comes next comes after what is on the other stream of the same device.
  void come_after(cudaStream_t other, int device) const {
    const OnDevice on(device);
    cudaEvent_t event = nullptr;
    require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    require(cudaEventRecord(event, other));
    require(cudaStreamWaitEvent(stream_, event, 0));
    require(cudaEventDestroy(event));
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Floats on a device.
class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t count, int device = 0) : device_(device), count_(count) {
    const OnDevice on(device);
    void* memory = nullptr;
    require(cudaMalloc(&memory, count * sizeof(float)));
    data_ = static_cast<float*>(memory);
  }
  ~DeviceFloats() {
    const OnDevice on(device_);
    static_cast<void>(cudaFree(data_));
  }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  float* data() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  int device_;
  std::size_t count_;
  float* data_ = nullptr;
};

/// Floats of the host that a stream can read and write.
class PinnedFloats {
 public:
  explicit PinnedFloats(std::vector<float> values) : count_(values.size()) {
    void* memory = nullptr;
    require(cudaMallocHost(&memory, count_ * sizeof(float)));
    data_ = static_cast<float*>(memory);
    for (std::size_t i = 0; i < count_; ++i) data_[i] = values[i];
  }
  explicit PinnedFloats(std::size_t count) : PinnedFloats(std::vector<float>(count, -1)) {}
  ~PinnedFloats() {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
  }
  PinnedFloats(PinnedFloats&& other) noexcept
      : count_(other.count_), data_(std::exchange(other.data_, nullptr)) {}
  PinnedFloats& operator=(PinnedFloats&&) = delete;
  float* data() const { return data_; }
  std::vector<float> values() const { return {data_, data_ + count_}; }

  void to_device(float* destination, cudaStream_t stream) const {
    require(cudaMemcpyAsync(destination, data_, count_ * sizeof(float), cudaMemcpyHostToDevice,
                            stream));
  }
  void from_device(const void* source, cudaStream_t stream) const {
    require(cudaMemcpyAsync(data_, source, count_ * sizeof(float), cudaMemcpyDeviceToHost, stream));
  }

 private:
  std::size_t count_;
  float* data_ = nullptr;
};

}  // namespace program
