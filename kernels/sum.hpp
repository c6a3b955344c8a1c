// Sums along one axis. float32 and float64, added up in float64 and rounded once; the order depends
// on the extents alone.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// x (outer, extent, inner) -> result (outer, inner): factor * sum over extent (+ result if
/// accumulate). An extent of 0 gives 0. `workspace`: sum_workspace_bytes() of device memory, null
/// if that is 0.
cudaError_t sum(Type type, const void* x, std::int64_t outer, std::int64_t extent,
                std::int64_t inner, double factor, bool accumulate, void* result, void* workspace,
                cudaStream_t stream);
std::int64_t sum_workspace_bytes(std::int64_t outer, std::int64_t extent, std::int64_t inner);

}  // namespace lockstep::kernels
