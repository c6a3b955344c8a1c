// The runtime's copies and fills, with what CUDA documents about when the host goes on:
//   pageable host to device    the source is read during the call
//   device to pageable host    the call returns when the copy is done
//   pinned host, device        the copy takes its place in the stream
#include "emulation/src/graph.hpp"
#include "emulation/src/memory.hpp"
#include "emulation/src/operations.hpp"
#include "emulation/src/streams.hpp"

using namespace emulation;

namespace {

struct Copy {
  void* to;
  const void* from;
  std::size_t byte_count;
  Place to_place = Place::pageable;
  Place from_place = Place::pageable;
  bool blocking = false;  // cudaMemcpy
};

// The rule of cudaMemcpyKind: what is said to be on the device must be there, and the reverse.
bool matches(Place place, bool on_device) { return (place == Place::device) == on_device; }

cudaError_t check(Copy& copy, cudaMemcpyKind kind) {
  if (copy.to == nullptr || copy.from == nullptr) return cudaErrorInvalidValue;
  const Lock lock(state().mutex);
  copy.to_place = locate(copy.to).place;
  copy.from_place = locate(copy.from).place;
  if (!fits(copy.to, copy.byte_count) || !fits(copy.from, copy.byte_count)) {
    return cudaErrorInvalidValue;
  }
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (kind == cudaMemcpyDefault) return cudaSuccess;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool right = matches(copy.to_place, to_device) && matches(copy.from_place, from_device);
  return right ? cudaSuccess : cudaErrorInvalidValue;
}

// From pageable memory to the device even cudaMemcpy may return before the device has the bytes.
bool waits_for_host(const Copy& copy) {
  if (copy.to_place == Place::pageable) return true;
  if (copy.to_place == Place::pinned) return copy.blocking;
  return copy.blocking && copy.from_place == Place::pinned;
}

cudaError_t wait_for(cudaStream_t handle) {
  Point target;
  {
    const Lock lock(state().mutex);
    target = tail_of(find_stream(handle));
    ++state().counters.host_synchronizations;
  }
  synchronize({target});
  const Lock lock(state().mutex);
  return state().sticky_error;
}

// Pageable memory has no place in a graph: it is read or written during the call.
cudaError_t check_capture(const Copy& copy, cudaStream_t handle) {
  const Lock lock(state().mutex);
  const StreamRef stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const bool pageable = copy.to_place == Place::pageable || copy.from_place == Place::pageable;
  if (stream->capture != nullptr && pageable) return invalidate(*stream->capture);
  return cudaSuccess;
}

cudaError_t copy_memory(Copy copy, cudaMemcpyKind kind, cudaStream_t stream) {
  if (copy.byte_count == 0) return cudaSuccess;
  if (const cudaError_t error = check(copy, kind)) return error;
  if (const cudaError_t error = check_capture(copy, stream)) return error;
  auto operation = copy.from_place == Place::pageable
                       ? CopyOperation::staged(copy.to, copy.from, copy.byte_count)
                       : std::make_unique<CopyOperation>(copy.to, copy.from, copy.byte_count);
  if (const cudaError_t error = enqueue(stream, std::move(operation))) return error;
  return waits_for_host(copy) ? wait_for(stream) : cudaSuccess;
}

cudaError_t fill_memory(void* to, int value, size_t byte_count, cudaStream_t stream) {
  if (byte_count == 0) return cudaSuccess;
  {
    const Lock lock(state().mutex);
    if (locate(to).place == Place::pageable || !fits(to, byte_count)) return cudaErrorInvalidValue;
  }
  return enqueue(stream, std::make_unique<FillOperation>(to, value, byte_count));
}

cudaError_t unsafe_call(cudaStream_t handle) {
  const Lock lock(state().mutex);
  if (const cudaError_t error = check_implicit_capture(*find_stream(handle))) return error;
  return check_unsafe_call();
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return api_call("cudaMemcpy", [&] {
    if (const cudaError_t error = unsafe_call(nullptr)) return error;
    Copy copy{dst, src, count};
    copy.blocking = true;
    return copy_memory(copy, kind, nullptr);
  });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api_call("cudaMemcpyAsync", [&] { return copy_memory({dst, src, count}, kind, stream); });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int, const void* src, int, size_t count,
                                cudaStream_t stream) {
  return api_call("cudaMemcpyPeerAsync", [&] {
    return copy_memory({dst, src, count}, cudaMemcpyDeviceToDevice, stream);
  });
}

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return api_call("cudaMemset", [&] {
    if (const cudaError_t error = unsafe_call(nullptr)) return error;
    return fill_memory(devPtr, value, count, nullptr);
  });
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return api_call("cudaMemsetAsync", [&] { return fill_memory(devPtr, value, count, stream); });
}

}  // extern "C"
