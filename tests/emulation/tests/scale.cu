#include <cuda_runtime.h>

#include "emulation/tests/scale.hpp"

namespace {

template <typename T>
__global__ void __launch_bounds__(128)
    scale_kernel(T* __restrict__ values, const T factor, const long long count) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long i = first; i < count; i += step) values[i] *= factor;
}

}  // namespace

namespace emulated_test {

cudaError_t scale(float* values, float factor, long long count, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2);
  config.blockDim = dim3(128);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, scale_kernel<float>, values, factor, count);
}

}  // namespace emulated_test
