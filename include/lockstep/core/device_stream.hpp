// What interop/cuda.hpp gives types to: streams and pointers of a CUDA program, as void*. A build
// without CUDA throws BackendUnavailable from all of it.
#pragma once

#include <lockstep/core/device.hpp>
#include <lockstep/core/export.hpp>

namespace lockstep::inline v0::detail {

struct StreamChoice {
  bool chosen = false;  // false: lockstep's own stream
  void* stream = nullptr;
};

/// This thread's operations on that device run on `stream` from now on, after all that it has
/// queued there before. Returns the choice before. @throws BackendUnavailable, DeviceError
LOCKSTEP_API StreamChoice enter_stream(int device_index, void* stream);
/// Goes back to that choice; what is queued from now on comes after what was queued within.
LOCKSTEP_API void leave_stream(int device_index, StreamChoice before) noexcept;
/// The stream of this thread's operations on that device.
LOCKSTEP_API void* device_stream(int device_index);
/// The CUDA device that the memory lies on. -1 for `expected_index`: any.
/// @throws InvalidUsage for memory of the host or of another device
LOCKSTEP_API Device device_of_pointer(const void* pointer, int expected_index);

LOCKSTEP_API void allow_tf32(bool allowed);
LOCKSTEP_API bool tf32_allowed();

}  // namespace lockstep::inline v0::detail
