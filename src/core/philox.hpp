// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11). Internal
// linkage: files compiled for unlike instruction sets include this. constexpr and without another
// header of ours, since the device code of kernels/ calls it too.
#pragma once

#include <cstdint>

namespace lockstep::inline v0 {

struct PhiloxBlock {
  std::uint32_t words[4];
};

/// The block of a counter (counter_low in words 0 and 1) under a key.
[[gnu::always_inline, maybe_unused]] static constexpr PhiloxBlock philox_block(
    std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) noexcept {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low);
  std::uint32_t c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high);
  std::uint32_t c3 = static_cast<std::uint32_t>(counter_high >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(product0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace lockstep::inline v0
