// Elementwise arithmetic with one scalar, in float32 and float64; any count. The scalars are
// float64 and rounded once to the type. The same bits as on the CPU. The result may be an operand.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// result = alpha * x + beta.
cudaError_t affine(Type type, const void* x, double alpha, double beta, void* result,
                   std::int64_t count, cudaStream_t stream);
/// y += alpha * x.
cudaError_t add_scaled(Type type, double alpha, const void* x, void* y, std::int64_t count,
                       cudaStream_t stream);
/// y *= alpha.
cudaError_t scale(Type type, double alpha, void* y, std::int64_t count, cudaStream_t stream);
/// y *= *factor, with the factor in device memory.
cudaError_t scale_by_device(Type type, const double* factor, void* y, std::int64_t count,
                            cudaStream_t stream);
/// result = factor * (a - b).
cudaError_t scaled_difference(Type type, const void* a, const void* b, double factor, void* result,
                              std::int64_t count, cudaStream_t stream);

}  // namespace lockstep::kernels
