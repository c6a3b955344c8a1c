// Folds of several arrays, element by element, in their order: the sums of data-parallel ranks.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// Arrays that a fold reads, all in one launch: what its parameters can hold (32 KiB since CUDA
/// 12.1). `sources` themselves lie in host memory, what they point to in device memory.
inline constexpr int kMostSources = 4000;

/// result[i] = sources[0][i] + sources[1][i] + ... in this order; float16 and bfloat16 are added
/// in float32 and rounded once. Every type (integers wrap). result may be one of the sources.
/// cudaErrorInvalidValue: no source, or more than kMostSources.
cudaError_t fold_sum(Type type, const void* const* sources, int source_count, void* result,
                     std::int64_t count, cudaStream_t stream);
/// The same with minimum or maximum (float32, float64, int64, int32); NaN wins, and of equals the
/// first.
cudaError_t fold_extreme(Type type, bool maximum, const void* const* sources, int source_count,
                         void* result, std::int64_t count, cudaStream_t stream);

}  // namespace lockstep::kernels
