// The order in which a device runs what nobody ordered: chosen by a seed on the stand-in, its own
// affair on a GPU.
#pragma once

#include <cstdint>

namespace orders {

/// Orders that are worth trying; 1 on a GPU.
std::uint64_t count();
void choose(std::uint64_t seed);
/// How often the host waited for a device; 0 where nobody counts.
std::int64_t host_waits();

}  // namespace orders
