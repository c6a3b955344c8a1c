// Sums of squares. float32 and float64, added up in float64 in an order that depends on the count
// alone. `workspace`: as many bytes of device memory as the function beside it says, null if none.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// *result += sum of x[i]^2; one double in device memory.
cudaError_t add_sum_of_squares(Type type, const void* x, std::int64_t count, void* result,
                               void* workspace, cudaStream_t stream);
std::int64_t add_sum_of_squares_workspace_bytes(std::int64_t count);

/// sum of (a - b)^2 times factor -> one element of the type.
cudaError_t squared_difference(Type type, const void* a, const void* b, std::int64_t count,
                               double factor, void* result, void* workspace, cudaStream_t stream);
std::int64_t squared_difference_workspace_bytes(std::int64_t count);

}  // namespace lockstep::kernels
