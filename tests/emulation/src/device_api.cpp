// The runtime's functions for devices, versions and errors.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulation/src/graph.hpp"
#include "emulation/src/memory.hpp"
#include "emulation/src/streams.hpp"

using namespace emulation;

namespace {

// Kernels size their grids by it. With fewer, a loop over the grid would take steps that miss the
// host's cache; with more, a reduction would have more blocks with barriers, which cost most here.
constexpr int kMultiprocessors = 32;
constexpr int kMajor = 9;
constexpr int kMinor = 0;

bool is_device(int device) {
  const Lock lock(state().mutex);
  return device >= 0 && static_cast<std::size_t>(device) < state().settings.visible.size();
}

int physical(int device) {
  const Lock lock(state().mutex);
  return state().settings.visible[static_cast<std::size_t>(device)];
}

cudaUUID_t uuid_bytes(int device) {
  cudaUUID_t uuid{};
  const std::string text = device_uuid(device);
  std::size_t at = 0;
  for (std::size_t i = 4; i < text.size() && at < sizeof uuid.bytes; ++i) {
    if (text[i] == '-') continue;
    const char digits[] = {text[i], text[i + 1], '\0'};
    uuid.bytes[at++] = static_cast<char>(std::strtoul(digits, nullptr, 16));
    ++i;
  }
  return uuid;
}

void fill_properties(cudaDeviceProp& properties, int device) {
  properties = {};
  std::snprintf(properties.name, sizeof properties.name, "Emulated GPU %d", physical(device));
  properties.uuid = uuid_bytes(device);
  properties.totalGlobalMem = static_cast<size_t>(state().settings.device_memory);
  properties.sharedMemPerBlock = 49152;
  properties.regsPerBlock = 65536;
  properties.warpSize = 32;
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsDim[0] = properties.maxThreadsDim[1] = 1024;
  properties.maxThreadsDim[2] = 64;
  properties.maxGridSize[0] = 2147483647;
  properties.maxGridSize[1] = properties.maxGridSize[2] = 65535;
  properties.major = kMajor;
  properties.minor = kMinor;
  properties.multiProcessorCount = kMultiprocessors;
  properties.maxThreadsPerMultiProcessor = 2048;
  properties.canMapHostMemory = properties.concurrentKernels = 1;
  properties.pciBusID = physical(device) + 1;
  properties.asyncEngineCount = 2;
  properties.unifiedAddressing = properties.streamPrioritiesSupported = 1;
  properties.memoryPoolsSupported = 1;
}

cudaError_t attribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  fill_properties(properties, device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = properties.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = properties.maxGridSize[0];
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(properties.sharedMemPerBlock);
      break;
    case cudaDevAttrWarpSize:
      *value = properties.warpSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      break;
    case cudaDevAttrIntegrated:
      *value = properties.integrated;
      break;
    case cudaDevAttrComputeMode:
      *value = 0;
      break;
    case cudaDevAttrPciBusId:
      *value = properties.pciBusID;
      break;
    case cudaDevAttrPciDeviceId:
      *value = properties.pciDeviceID;
      break;
    case cudaDevAttrL2CacheSize:
      *value = properties.l2CacheSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = properties.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrPciDomainId:
      *value = properties.pciDomainID;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      break;
    case cudaDevAttrStreamPrioritiesSupported:
      *value = properties.streamPrioritiesSupported;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = properties.memoryPoolsSupported;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

ErrorText text_of(cudaError_t error) {
  static constexpr ErrorText kTexts[] = {
#define EMULATED_ERROR(name, code, text) {name, #name, text},
#include "emulated_errors.inc"
  };
  for (const ErrorText& known : kTexts) {
    if (known.error == error) return known;
  }
  return {error, "unrecognized error code", "unrecognized error code"};
}

// An error of the context stays; others are told once.
cudaError_t last_error(bool forget) {
  const Lock lock(state().mutex);
  if (state().sticky_error != cudaSuccess) return state().sticky_error;
  const cudaError_t error = this_thread().last_error;
  if (forget) this_thread().last_error = cudaSuccess;
  return error;
}

}  // namespace

extern "C" {

cudaError_t cudaDriverGetVersion(int* driverVersion) {
  return api_call("cudaDriverGetVersion", [&] {
    if (driverVersion == nullptr) return cudaErrorInvalidValue;
    *driverVersion = state().settings.driver_version;
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  return api_call("cudaRuntimeGetVersion", [&] {
    if (runtimeVersion == nullptr) return cudaErrorInvalidValue;
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaGetLastError(void) { return last_error(true); }
cudaError_t cudaPeekAtLastError(void) { return last_error(false); }
const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return text_of(error).text; }

cudaError_t cudaGetDeviceCount(int* count) {
  if (count != nullptr) *count = 0;
  return api_call("cudaGetDeviceCount", [&] {
    if (count == nullptr) return cudaErrorInvalidValue;
    const Lock lock(state().mutex);
    *count = static_cast<int>(state().settings.visible.size());
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return api_call("cudaSetDevice", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    this_thread().device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api_call("cudaGetDevice", [&] {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = this_thread().device;
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return api_call("cudaInitDevice",
                  [&] { return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return api_call("cudaGetDeviceProperties", [&] {
    if (prop == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    fill_properties(*prop, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return api_call("cudaDeviceGetAttribute", [&] {
    if (value == nullptr) return cudaErrorInvalidValue;
    return is_device(device) ? attribute(value, attr, device) : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return api_call("cudaDeviceGetPCIBusId", [&] {
    if (pciBusId == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    char text[16];
    std::snprintf(text, sizeof text, "0000:%02X:00.0", (physical(device) + 1) & 0xff);
    if (len <= static_cast<int>(std::strlen(text))) return cudaErrorInvalidValue;
    std::strcpy(pciBusId, text);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return api_call("cudaDeviceCanAccessPeer", [&] {
    if (canAccessPeer == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device) || !is_device(peerDevice)) return cudaErrorInvalidDevice;
    *canAccessPeer = device != peerDevice;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return api_call("cudaDeviceSynchronize", [&] {
    {
      const Lock lock(state().mutex);
      if (const cudaError_t error = check_unsafe_call()) return error;
    }
    return synchronize_device(this_thread().device);
  });
}

}  // extern "C"

namespace emulation {

LiveObjects live_objects() {
  const Lock lock(state().mutex);
  LiveObjects live;
  live.allocations = allocation_count();
  for (int device = 0; device < state().settings.device_count; ++device) {
    live.allocated_bytes += static_cast<std::int64_t>(allocated_bytes(device));
  }
  live.pinned_buffers = pinned_count();
  live.streams = stream_count();
  live.events = event_count();
  live.graphs = graph_count();
  live.handles = live_handles("cublasLt");
  return live;
}

}  // namespace emulation
