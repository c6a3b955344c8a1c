// Index of the largest element of each row.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// x (rows, columns) -> int64 (rows): index of the first largest; a NaN counts as largest.
/// float32 and float64; cudaErrorInvalidValue for rows without elements.
cudaError_t argmax(Type type, const void* x, std::int64_t rows, std::int64_t columns,
                   std::int64_t* result, cudaStream_t stream);

}  // namespace lockstep::kernels
