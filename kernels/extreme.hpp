// The largest or smallest along one axis, and where it is.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

struct ExtremeExtents {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t inner;
};

/// x (outer, extent, inner) -> the largest (or smallest) over extent and the index of the first of
/// them, (outer, inner) both; either may be null. A NaN wins. float32, float64, int64 and int32;
/// cudaErrorInvalidValue for an extent of 0.
cudaError_t extreme(Type type, bool maximum, const void* x, const ExtremeExtents& size,
                    void* values, std::int64_t* indexes, cudaStream_t stream);
/// result (outer, extent, inner) = gradient (outer, inner) at the indexes, 0 everywhere else.
/// float32 and float64.
cudaError_t extreme_backward(Type type, const void* gradient, const std::int64_t* indexes,
                             const ExtremeExtents& size, void* result, cudaStream_t stream);

}  // namespace lockstep::kernels
