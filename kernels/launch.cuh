// The only place that launches kernels, and the grids that it launches them with.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lockstep::kernels {

inline constexpr int kThreads = 256;  // per block, unless a kernel says otherwise
/// A grid has at most this many blocks; kernels go on with a stride of the whole grid. It fills the
/// largest devices a few times over.
inline constexpr std::int64_t kMostBlocks = 4096;

constexpr std::int64_t ceil_divide(std::int64_t count, std::int64_t by) {
  return count / by + (count % by != 0 ? 1 : 0);
}

/// Launches min(tasks, kMostBlocks) blocks; no tasks is no launch, and succeeds.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), std::int64_t tasks, int threads,
                   cudaStream_t stream, const Arguments&... arguments) {
  if (tasks <= 0) return cudaSuccess;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(tasks < kMostBlocks ? tasks : kMostBlocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

/// The thread's number in the grid, and the number of threads.
__device__ __forceinline__ std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t grid_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// body.run<kWidth>(i) for whole packs, body.run<1>(i) for the rest of [0, count).
template <int kWidth, class Body>
__global__ void for_each_kernel(const Body body, const std::int64_t count) {
  const std::int64_t packs = count / kWidth;
  for (std::int64_t pack = grid_thread(); pack < packs; pack += grid_threads())
    body.template run<kWidth>(pack * kWidth);
  for (std::int64_t i = packs * kWidth + grid_thread(); i < count; i += grid_threads())
    body.template run<1>(i);
}

/// Calls body.run<width>(i), a device function for elements [i, i + width), over [0, count), in any
/// order: in widths of kWidth where `aligned`, else one by one.
template <int kWidth, class Body>
cudaError_t launch_for_each(const Body& body, std::int64_t count, bool aligned,
                            cudaStream_t stream) {
  if (aligned)
    return launch(for_each_kernel<kWidth, Body>, ceil_divide(count, kThreads * kWidth), kThreads,
                  stream, body, count);
  return launch(for_each_kernel<1, Body>, ceil_divide(count, kThreads), kThreads, stream, body,
                count);
}

}  // namespace lockstep::kernels
