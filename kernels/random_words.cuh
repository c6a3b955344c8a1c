// Philox words of elements.
#pragma once

#include <cmath>

#include "core/philox.hpp"
#include "kernels/random_position.hpp"

namespace lockstep::kernels {

__device__ __forceinline__ PhiloxBlock block_at(const RandomPosition& position,
                                                std::int64_t block) {
  return philox_block(position.seed, position.offset + static_cast<std::uint64_t>(block),
                      position.stream);
}

/// The words of elements [i, i + kWidth), one each; i is a multiple of kWidth, which divides 4.
template <int kWidth>
struct Words {
  std::uint32_t words[kWidth];
};
template <int kWidth>
__device__ __forceinline__ Words<kWidth> words_at(const RandomPosition& position, std::int64_t i) {
  static_assert(4 % kWidth == 0);
  const PhiloxBlock block = block_at(position, i / 4);
  Words<kWidth> result;
  if constexpr (kWidth == 4) {
#pragma unroll
    for (int j = 0; j < 4; ++j) result.words[j] = block.words[j];
  } else {  // selects, since an index that is not a constant would put the block into memory
    const bool upper = (i & 2) != 0;
    const std::uint32_t even = upper ? block.words[2] : block.words[0];
    const std::uint32_t odd = upper ? block.words[3] : block.words[1];
    if constexpr (kWidth == 2) {
      result.words[0] = even;
      result.words[1] = odd;
    } else {
      result.words[0] = (i & 1) != 0 ? odd : even;
    }
  }
  return result;
}

/// A word is below this with the given probability.
inline std::uint64_t threshold_of(double probability) {
  return static_cast<std::uint64_t>(std::ceil(probability * 0x1p32));
}

}  // namespace lockstep::kernels
