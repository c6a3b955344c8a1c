// The tanh form of GELU (Hendrycks and Gimpel, 2016): x / 2 * (1 + tanh(u)) with
// u = sqrt(2 / pi) (x + 0.044715 x^3). float32 and float64; the same bits as on the CPU.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

cudaError_t gelu_tanh(Type type, const void* x, void* result, std::int64_t count,
                      cudaStream_t stream);
/// result = derivative at x * gradient.
cudaError_t gelu_tanh_backward(Type type, const void* x, const void* gradient, void* result,
                               std::int64_t count, cudaStream_t stream);

}  // namespace lockstep::kernels
