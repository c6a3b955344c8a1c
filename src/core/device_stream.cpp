#include <lockstep/core/device_stream.hpp>

#include <string>

#include <lockstep/core/error.hpp>

#include "backend/backend.hpp"

namespace lockstep::inline v0::detail {

StreamChoice enter_stream(int device_index, void* stream) {
  const backend::Queue queue{stream};
  const backend::Queue earlier = backend::cuda_current_queue(device_index);
  const backend::ChosenQueue before =
      backend::set_cuda_queue(device_index, {.chosen = true, .queue = queue});
  try {
    backend::cuda_order(device_index, queue, earlier);
  } catch (...) {
    backend::set_cuda_queue(device_index, before);
    throw;
  }
  return {before.chosen, before.queue.stream};
}

void leave_stream(int device_index, StreamChoice before) noexcept {
  try {
    const backend::Queue within = backend::cuda_current_queue(device_index);
    backend::set_cuda_queue(device_index, {.chosen = before.chosen, .queue = {before.stream}});
    backend::cuda_order(device_index, backend::cuda_current_queue(device_index), within);
  } catch (const Error&) {
    // The device is beyond use, and the next operation on it says so.
  }
}

void* device_stream(int device_index) { return backend::cuda_current_queue(device_index).stream; }

Device device_of_pointer(const void* pointer, int expected_index) {
  if (pointer == nullptr) {
    const int index = expected_index < 0 ? backend::cuda_current_device() : expected_index;
    backend::cuda_current_queue(index);  // throws if there is no such device
    return Device::cuda(index);
  }
  const int found = backend::cuda_device_of(pointer);
  if (found < 0)
    throw InvalidUsage(
        "[cuda] borrow: the pointer is to host memory; refer to it with ls::borrow, or copy it to "
        "the device");
  if (expected_index >= 0 && found != expected_index)
    throw InvalidUsage("[cuda] borrow: the pointer is to memory of cuda:" + std::to_string(found) +
                       ", not of cuda:" + std::to_string(expected_index));
  return Device::cuda(found);
}

void allow_tf32(bool allowed) { backend::cuda_allow_tf32(allowed); }
bool tf32_allowed() { return backend::cuda_tf32_allowed(); }

}  // namespace lockstep::inline v0::detail
