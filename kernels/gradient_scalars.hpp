// Small numbers about gradients that stay in device memory, so that a step need not wait for the
// device.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// Clipping by global norm, for gradients with a factor *factor * host_factor that is still to be
/// applied (`factor` null: 1):
///   norm = sqrt(*sum_of_squares) * |*factor * host_factor|
///   new_factor = min(1, max_norm / (norm + 1e-6)) * *factor, NaN for a NaN norm
/// All pointers are one double of device memory; new_factor may be factor.
cudaError_t clip_factor(const double* sum_of_squares, const double* factor, double host_factor,
                        double max_norm, double* norm, double* new_factor, cudaStream_t stream);

/// *flag |= bit where *word is not `expected`. float32 and float64.
cudaError_t flag_unequal(Type type, const void* word, double expected, std::int32_t* flag,
                         std::int32_t bit, cudaStream_t stream);

/// *flag = 1 if any element is infinite or NaN; otherwise *flag is left as it is. Floating-point
/// types; cudaErrorInvalidValue for integers.
cudaError_t non_finite(Type type, const void* x, std::int64_t count, std::int32_t* flag,
                       cudaStream_t stream);

/// *result = numerator / *word, and 0 where *word is 0. Every type.
cudaError_t reciprocal_of(Type word_type, const void* word, double numerator, double* result,
                          cudaStream_t stream);

}  // namespace lockstep::kernels
