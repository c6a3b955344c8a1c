// Loops over rows, shared among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/thread_pool.hpp"

namespace lockstep::inline v0::backend::cpu {

/// Elements that are worth a task.
inline constexpr std::int64_t kSmallestTask = 32 * 1024;

/// body(row) for all rows of `columns` elements.
template <class Body>
void for_each_row(std::int64_t rows, std::int64_t columns, const Body& body) {
  const std::int64_t per_task =
      std::max<std::int64_t>(1, kSmallestTask / std::max<std::int64_t>(1, columns));
  for_each_task((rows + per_task - 1) / per_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * per_task);
    for (std::int64_t row = task * per_task; row < end; ++row) body(row);
  });
}

}  // namespace lockstep::inline v0::backend::cpu
