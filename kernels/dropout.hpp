// Dropout. float32 and float64; the same bits as on the CPU.
#pragma once

#include "kernels/random_position.hpp"

namespace lockstep::kernels {

/// result[i] = kept ? x[i] / (1 - probability) : 0, where element i is kept as `bernoulli` with
/// probability 1 - `probability` decides from the position; `probability` in [0, 1] is that of 0.
/// Applied to the gradient with the same position it is the backward pass.
/// *device_offset (device memory; null: 0) is added to position.offset.
cudaError_t dropout(Type type, const RandomPosition& position, const std::uint64_t* device_offset,
                    double probability, const void* x, void* result, std::int64_t count,
                    cudaStream_t stream);

}  // namespace lockstep::kernels
