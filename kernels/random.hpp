// Random fills, float32 and float64; the same bits as on the CPU. Element i uses word i % 4 of
// block offset + i / 4 (float32) or words 2 (i % 2), 2 (i % 2) + 1 of block offset + i / 2
// (float64; the first word is the low half of the 64 bits): philox(key = seed, counter_low = block,
// counter_high = stream).
#pragma once

#include "kernels/random_position.hpp"

namespace lockstep::kernels {

/// low + (high - low) * u, and never `high`: u = (word >> 8) * 2^-24 in float32, (64-bit word >>
/// 11) * 2^-53 in float64.
cudaError_t uniform(Type type, const RandomPosition& position, double low, double high,
                    void* result, std::int64_t count, cudaStream_t stream);
/// Box-Muller in float64: element pair (2j, 2j+1) = sqrt(-2 log(1 - u0)) * (cos, sin)(2 pi u1) from
/// the 64-bit words of block offset + j, whatever the type.
cudaError_t normal(Type type, const RandomPosition& position, void* result, std::int64_t count,
                   cudaStream_t stream);
/// 1 with the given probability in [0, 1], else 0: element i is 1 where word i % 4 of block
/// offset + i / 4 is below ceil(probability * 2^32), whatever the type.
cudaError_t bernoulli(Type type, const RandomPosition& position, double probability, void* result,
                      std::int64_t count, cudaStream_t stream);

}  // namespace lockstep::kernels
