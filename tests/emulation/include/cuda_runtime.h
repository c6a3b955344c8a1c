// Stand-in of CUDA's cuda_runtime.h: kernels are C++ functions, and a launch queues the calls of
// all its threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"
#include "emulated_launch.hpp"
#include "vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __constant__ static
#define EMULATED_TEXT_OF(text) #text
#define EMULATED_TEXT(text) EMULATED_TEXT_OF(text)
// One copy, since one block runs at a time. Each variable has a section of its own (see
// shared_memory.hpp); variables of templates may not share one with others.
#define __shared__ static __attribute__((section("emulated_shared_" EMULATED_TEXT(__COUNTER__))))

#include "emulated_device.hpp"  // after the macros, which it needs

template <typename... Parameters, typename... Arguments>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                                      void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (config == nullptr) return cudaErrorInvalidValue;
  return emulation::launch(
      *config, [kernel, all = std::tuple<std::decay_t<Parameters>...>(
                            std::forward<Arguments>(arguments)...)] { std::apply(kernel, all); });
}

template <typename T>
inline cudaError_t cudaMalloc(T** devPtr, size_t size) {
  return ::cudaMalloc(reinterpret_cast<void**>(devPtr), size);
}

template <typename T>
inline cudaError_t cudaMallocHost(T** ptr, size_t size) {
  return ::cudaMallocHost(reinterpret_cast<void**>(ptr), size);
}

template <typename T>
inline cudaError_t cudaMallocAsync(T** devPtr, size_t size, cudaStream_t stream) {
  return ::cudaMallocAsync(reinterpret_cast<void**>(devPtr), size, stream);
}
