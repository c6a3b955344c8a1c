// The sizes that allocators round up to, so that freed blocks fit again: steps of 64 bytes up to
// 1 KiB, then 16 steps for each doubling (at most 1/16 is wasted).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockstep::inline v0::backend {

struct SizeClass {
  std::size_t index = 0;
  std::int64_t byte_count = 0;
};

/// byte_count > 0.
constexpr SizeClass size_class(std::int64_t byte_count) noexcept {
  constexpr std::int64_t kSmall = 1024;
  constexpr std::int64_t kStep = 64;
  constexpr std::size_t kSmallClasses = kSmall / kStep;
  if (byte_count <= kSmall) {
    const std::int64_t units = (byte_count + kStep - 1) / kStep;
    return {static_cast<std::size_t>(units - 1), units * kStep};
  }
  // 2^exponent < byte_count <= 2^(exponent + 1), cut into 16 steps.
  const int exponent = std::bit_width(static_cast<std::uint64_t>(byte_count - 1)) - 1;
  const std::int64_t base = std::int64_t{1} << exponent;
  const std::int64_t step = base / 16;
  const std::int64_t steps = (byte_count - base + step - 1) / step;
  return {kSmallClasses + static_cast<std::size_t>(exponent - 10) * 16 +
              static_cast<std::size_t>(steps - 1),
          base + steps * step};
}

}  // namespace lockstep::inline v0::backend
