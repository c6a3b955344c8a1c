// Long sums in chunks whose number and size depend on the length alone, so that threads may share
// them and the result is the same with any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/cpu/thread_pool.hpp"

namespace lockstep::inline v0::backend::cpu {

/// Adds term(begin, end) over chunks of [0, count), in their order; a chunk is `smallest` elements
/// or more.
template <class Term>
double sum_in_chunks(std::int64_t count, std::int64_t smallest, const Term& term) {
  constexpr std::int64_t kMostChunks = 1024;
  const std::int64_t per_chunk = (count + kMostChunks - 1) / kMostChunks;
  const std::int64_t chunk = std::max(smallest, (per_chunk + 15) / 16 * 16);
  if (count <= chunk) return count > 0 ? term(std::int64_t{0}, count) : 0.0;
  std::array<double, kMostChunks> sums;
  const std::int64_t chunks = (count + chunk - 1) / chunk;
  for_each_task(chunks, [&](std::int64_t task) {
    sums[static_cast<std::size_t>(task)] = term(task * chunk, std::min(count, (task + 1) * chunk));
  });
  double total = 0;
  for (std::int64_t task = 0; task < chunks; ++task) total += sums[static_cast<std::size_t>(task)];
  return total;
}

}  // namespace lockstep::inline v0::backend::cpu
