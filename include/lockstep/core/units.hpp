// Named byte counts.
#pragma once

#include <cstdint>

namespace lockstep::inline v0 {

inline constexpr std::int64_t KiB = 1024;
inline constexpr std::int64_t MiB = 1024 * KiB;
inline constexpr std::int64_t GiB = 1024 * MiB;

}  // namespace lockstep::inline v0
