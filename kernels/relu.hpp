// Rectified linear unit. float32 and float64; the same bits as on the CPU.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// max(x, 0), NaN stays NaN.
cudaError_t relu(Type type, const void* x, void* result, std::int64_t count, cudaStream_t stream);
/// result = y > 0 ? gradient : 0, from the forward result y; where y is NaN the gradient passes.
cudaError_t relu_backward(Type type, const void* y, const void* gradient, void* result,
                          std::int64_t count, cudaStream_t stream);

}  // namespace lockstep::kernels
