// Backend family: random fills. Element i uses word i % 4 of block offset + i / 4 (float32) or
// words 2 (i % 2), 2 (i % 2) + 1 of block offset + i / 2 (float64; the first word is the low half
// of the 64 bits): philox(key = seed, counter_low = block, counter_high = stream).
#pragma once

#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

struct RandomPosition {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;  // in blocks of 4 words
  /// For a captured step: more to be added to the offset, in device memory; null elsewhere.
  const std::uint64_t* device_offset = nullptr;
};

class Random {
 public:
  virtual ~Random() = default;
  /// low + (high - low) * u, and never `high`: u = (word >> 8) * 2^-24 in float32, (64-bit word >>
  /// 11) * 2^-53 in float64.
  virtual void uniform(DType dtype, const RandomPosition& position, double low, double high,
                       void* result, std::int64_t count, Queue queue) = 0;
  /// Box-Muller in float64 from pairs of uniforms by src/core/portable_math.hpp (no libm); element
  /// pair (2j, 2j+1) = sqrt(-2 log(1 - u0)) * (cos, sin)(2 pi u1) from the 64-bit words of block
  /// offset + j, whatever the dtype.
  virtual void normal(DType dtype, const RandomPosition& position, void* result, std::int64_t count,
                      Queue queue) = 0;
  /// 1 with the given probability in [0, 1], else 0: element i is 1 where word i % 4 of block
  /// offset + i / 4 is below ceil(probability * 2^32), in every dtype.
  virtual void bernoulli(DType dtype, const RandomPosition& position, double probability,
                         void* result, std::int64_t count, Queue queue) = 0;
  /// result[i] = x[i] / (1 - probability) where `bernoulli` with probability 1 - `probability` is 1
  /// at the same position, else 0, whatever x[i] is. Forward, and with the same position backward.
  virtual void dropout(DType dtype, const RandomPosition& position, double probability,
                       const void* x, void* result, std::int64_t count, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
