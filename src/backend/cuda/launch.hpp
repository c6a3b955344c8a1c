// What the families share: the device is made current, the stream found, the launch checked.
#pragma once

#include <cstdint>

#include "backend/cuda/call.hpp"
#include "backend/cuda/cuda_device.hpp"

namespace lockstep::inline v0::backend::cuda {

/// A family of one device.
class OnDevice {
 public:
  explicit OnDevice(int index) noexcept : index_(index) {}
  int index() const noexcept { return index_; }

  /// kernel(stream) returns the launch's status; `count` is named in an error.
  template <class Kernel>
  void launch(const char* operation, std::int64_t count, Queue queue, const Kernel& kernel) const {
    const DeviceGuard guard(index_);
    check_launch(kernel(stream_of(queue)), operation, count);
  }

 private:
  int index_;
};

/// Device memory for the length of a call; the next user of the block comes later on the stream.
class Scratch {
 public:
  Scratch(int index, std::int64_t byte_count, Queue queue)
      : memory_(device_state(index).memory()),
        data_(memory_.allocate(byte_count, queue)),
        byte_count_(byte_count),
        queue_(queue) {}
  ~Scratch() { memory_.release(data_, byte_count_, queue_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* data() const noexcept { return data_; }

 private:
  CudaMemory& memory_;
  void* data_;
  std::int64_t byte_count_;
  Queue queue_;
};

}  // namespace lockstep::inline v0::backend::cuda
