// Conversion of element types.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// Between any two types; rounds once, to nearest even, NaN stays NaN (quiet). Float to integer
/// truncates, saturates beyond the range, and gives 0 for NaN; integer to integer wraps. The same
/// bits as on the CPU, but for the payload of a NaN that goes between float32 and float64.
cudaError_t cast(Type from, const void* x, Type to, void* result, std::int64_t count,
                 cudaStream_t stream);

}  // namespace lockstep::kernels
