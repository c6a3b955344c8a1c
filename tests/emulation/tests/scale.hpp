// A kernel in a file of its own, as CUDA code has them.
#pragma once

#include <cuda_runtime_api.h>

namespace emulated_test {

// values[i] *= factor, in order on the stream.
cudaError_t scale(float* values, float factor, long long count, cudaStream_t stream);

}  // namespace emulated_test
