// Softmax along one axis, or its logarithm; stable. float32 and float64; sums in float64.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// Arrays are (outer, extent, inner), row-major.
struct SoftmaxShape {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
  bool logarithm = false;
};

/// Along extent. A line that holds a NaN or +infinity, or nothing but -infinity, becomes NaN.
/// result is not x.
cudaError_t softmax(Type type, const SoftmaxShape& shape, const void* x, void* result,
                    cudaStream_t stream);
/// From the result y of softmax.
cudaError_t softmax_backward(Type type, const SoftmaxShape& shape, const void* y,
                             const void* gradient, void* result, cudaStream_t stream);

}  // namespace lockstep::kernels
