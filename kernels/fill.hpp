// Sets every element to one value.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// Every type; the value is rounded as `cast` rounds.
cudaError_t fill(Type type, double value, void* result, std::int64_t count, cudaStream_t stream);

}  // namespace lockstep::kernels
