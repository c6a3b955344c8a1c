// Lockstep as a guest in a program that owns CUDA streams and device memory. Inline, so that the
// library's own headers name no CUDA type; in C++ and in .cu files. No call waits for the device,
// and the program's current device stays as it is.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/device_stream.hpp>

namespace lockstep::inline v0::cuda {

/// While it lives, this thread's operations on the device run on the program's stream, and come
/// after what they queued before; after it, they come after what was queued within. Nests; ends on
/// the thread that began it, in reverse order. The stream must outlive the tensors that were made
/// on it: their memory goes back to it.
class [[nodiscard]] StreamScope {
 public:
  /// `stream` belongs to that device; 0 is the device's default stream. Not while the program
  /// captures the stream itself: use CapturedStep. @throws BackendUnavailable, DeviceError,
  /// InvalidUsage for cudaStreamPerThread, which is another stream in each thread
  explicit StreamScope(cudaStream_t stream, int device_index = 0)
      : device_index_(device_index), before_(detail::enter_stream(device_index, stream)) {}
  ~StreamScope() { detail::leave_stream(device_index_, before_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  int device_index_;
  detail::StreamChoice before_;
};

/// The stream on which this thread's operations on the device run: the innermost scope's, or
/// lockstep's own.
inline cudaStream_t current_stream(int device_index = 0) {
  return static_cast<cudaStream_t>(detail::device_stream(device_index));
}

/// Device index of borrow(): the one on which the memory lies.
inline constexpr int kDeviceOfPointer = -1;

/// Refers to device memory of the program, as ls::borrow does; the device is read from the pointer
/// (without elements: the current one). The stream that wrote the memory must be the one that
/// operations on it run on, or be ordered before it. @throws InvalidUsage for memory of the host,
/// or of another device than asked for.
inline Tensor borrow(void* pointer, const Shape& shape, DType dtype,
                     int device_index = kDeviceOfPointer,
                     std::shared_ptr<const void> owner = nullptr) {
  const void* place = shape.element_count() > 0 ? pointer : nullptr;
  return lockstep::borrow(pointer, shape, dtype, detail::device_of_pointer(place, device_index),
                          std::move(owner));
}
/// The same for memory that must not be written.
inline Tensor borrow(const void* pointer, const Shape& shape, DType dtype,
                     int device_index = kDeviceOfPointer,
                     std::shared_ptr<const void> owner = nullptr) {
  const void* place = shape.element_count() > 0 ? pointer : nullptr;
  return lockstep::borrow(pointer, shape, dtype, detail::device_of_pointer(place, device_index),
                          std::move(owner));
}
template <class T>
requires(!std::is_void_v<T>) && requires { dtype_of<std::remove_const_t<T>>; }
Tensor borrow(T* pointer, const Shape& shape, int device_index = kDeviceOfPointer,
              std::shared_ptr<const void> owner = nullptr) {
  using Untyped = std::conditional_t<std::is_const_v<T>, const void, void>;
  return cuda::borrow(static_cast<Untyped*>(pointer), shape, dtype_of<std::remove_const_t<T>>,
                      device_index, std::move(owner));
}

/// Whether float32 matrix products may round their operands to TF32 (10 bits of mantissa): several
/// times faster, and no longer the CPU's numbers. Of the process, from the next product on; a
/// recorded step keeps what it was recorded with. At the start the environment variable
/// LOCKSTEP_TF32 says it, 0 (the default) or 1.
inline void allow_tf32(bool allowed) { detail::allow_tf32(allowed); }
/// @throws InvalidUsage if LOCKSTEP_TF32 cannot be read.
inline bool tf32_allowed() { return detail::tf32_allowed(); }

}  // namespace lockstep::inline v0::cuda
