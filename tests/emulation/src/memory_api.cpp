// The runtime's functions for memory, copies apart.
#include "emulation/src/graph.hpp"
#include "emulation/src/memory.hpp"
#include "emulation/src/operations.hpp"
#include "emulation/src/streams.hpp"

using namespace emulation;

namespace {

cudaError_t unsafe_call() {
  const Lock lock(state().mutex);
  return check_unsafe_call();
}

cudaError_t synchronize_all_devices() {
  cudaError_t error = cudaSuccess;
  for (std::size_t device = 0; device < state().settings.visible.size(); ++device) {
    if (error == cudaSuccess) error = synchronize_device(static_cast<int>(device));
  }
  return error;
}

cudaError_t host_alloc(void** pointer, size_t byte_count) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  const Lock lock(state().mutex);
  if (const cudaError_t error = check_unsafe_call()) return error;
  return allocate_pinned(pointer, byte_count);
}

}  // namespace

extern "C" {

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api_call("cudaMemGetInfo", [&] {
    if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
    const Lock lock(state().mutex);
    *total = static_cast<size_t>(state().settings.device_memory);
    *free = *total - allocated_bytes(this_thread().device);
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return api_call("cudaMalloc", [&] {
    if (devPtr == nullptr) return cudaErrorInvalidValue;
    const Lock lock(state().mutex);
    if (const cudaError_t error = check_unsafe_call()) return error;
    return allocate_device(devPtr, size, this_thread().device);
  });
}

cudaError_t cudaFree(void* devPtr) {
  return api_call("cudaFree", [&] {
    if (devPtr == nullptr) return cudaSuccess;
    if (const cudaError_t error = unsafe_call()) return error;
    Location location;
    {
      const Lock lock(state().mutex);
      location = locate(devPtr);
    }
    if (location.place != Place::device || location.base != devPtr) return cudaErrorInvalidValue;
    if (const cudaError_t error = synchronize_device(location.device)) return error;
    const Lock lock(state().mutex);
    if (!free_device(devPtr)) return cudaErrorInvalidValue;
    return state().sticky_error;
  });
}

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return api_call("cudaMallocAsync", [&] {
    if (devPtr == nullptr) return cudaErrorInvalidValue;
    {
      const Lock lock(state().mutex);
      const StreamRef stream = find_stream(hStream);
      if (stream == nullptr) return cudaErrorInvalidResourceHandle;
      if (stream->capture != nullptr) return invalidate(*stream->capture);
      if (const cudaError_t error = allocate_device(devPtr, size, stream->device)) return error;
    }
    if (size == 0) return cudaSuccess;
    // What others write before the stream is here is lost.
    return enqueue(hStream, std::make_unique<FillOperation>(*devPtr, 0xff, size));
  });
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return api_call("cudaFreeAsync", [&] {
    if (devPtr == nullptr) return cudaSuccess;
    {
      const Lock lock(state().mutex);
      const Location location = locate(devPtr);
      if (location.place != Place::device || location.base != devPtr) return cudaErrorInvalidValue;
      const StreamRef stream = find_stream(hStream);
      if (stream == nullptr) return cudaErrorInvalidResourceHandle;
      if (stream->capture != nullptr) return invalidate(*stream->capture);
    }
    return enqueue(hStream, std::make_unique<FreeOperation>(devPtr));
  });
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int) {
  return api_call("cudaHostAlloc", [&] { return host_alloc(pHost, size); });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return api_call("cudaMallocHost", [&] { return host_alloc(ptr, size); });
}

cudaError_t cudaFreeHost(void* ptr) {
  return api_call("cudaFreeHost", [&] {
    if (ptr == nullptr) return cudaSuccess;
    if (const cudaError_t error = unsafe_call()) return error;
    if (const cudaError_t error = synchronize_all_devices()) return error;
    const Lock lock(state().mutex);
    return free_pinned(ptr) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int) {
  return api_call("cudaHostRegister", [&] {
    if (ptr == nullptr || size == 0) return cudaErrorInvalidValue;
    const Lock lock(state().mutex);
    if (const cudaError_t error = check_unsafe_call()) return error;
    return register_pinned(ptr, size) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* ptr) {
  return api_call("cudaHostUnregister", [&] {
    if (const cudaError_t error = unsafe_call()) return error;
    if (const cudaError_t error = synchronize_all_devices()) return error;
    const Lock lock(state().mutex);
    return unregister_pinned(ptr) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return api_call("cudaPointerGetAttributes", [&] {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    const Lock lock(state().mutex);
    const Location location = locate(ptr);
    auto* pointer = const_cast<void*>(ptr);
    switch (location.place) {
      case Place::device:
        *attributes = {cudaMemoryTypeDevice, location.device, pointer, nullptr, {}};
        break;
      case Place::pinned:
        *attributes = {cudaMemoryTypeHost, location.device, pointer, pointer, {}};
        break;
      case Place::pageable:
        *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, pointer, {}};
        break;
    }
    return cudaSuccess;
  });
}

}  // extern "C"
