// Threads for lockstep's own loops. With one thread (the default) nothing is ever started.
#pragma once

#include <cstdint>

namespace lockstep::inline v0::backend::cpu {

/// Elements below which a loop over memory is not worth waking a thread.
inline constexpr std::int64_t kParallelElements = 128 * 1024;

/// Threads that a loop may use; 1 until set_cpu_thread_count is called.
int loop_thread_count() noexcept;
void set_loop_thread_count(int count);

/// Calls `body(context, task)` for every task in [0, tasks), on this thread and the pool's; returns
/// when all are done. Which thread runs a task is open, so a result must not depend on it. `body`
/// must not throw. Runs everything here when the pool is busy with another caller's loop.
void run_tasks(std::int64_t tasks, void (*body)(void* context, std::int64_t task), void* context);

template <class Body>
void for_each_task(std::int64_t tasks, const Body& body) {
  if (tasks <= 1 || loop_thread_count() == 1) {
    for (std::int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  run_tasks(
      tasks, [](void* context, std::int64_t task) { (*static_cast<const Body*>(context))(task); },
      const_cast<Body*>(&body));
}

/// Calls body(begin, end) for pieces of [0, count); pieces begin at multiples of 4096.
template <class Body>
void for_ranges(std::int64_t count, Body body) {
  const int threads = loop_thread_count();
  if (count <= 0) return;
  if (threads == 1 || count < kParallelElements) {
    body(std::int64_t{0}, count);
    return;
  }
  constexpr std::int64_t kAlignment = 4096;
  // More pieces than threads: one that wakes late, or shares its core, takes fewer.
  const std::int64_t piece = (count / (4 * threads) / kAlignment + 1) * kAlignment;
  for_each_task((count + piece - 1) / piece, [&](std::int64_t task) {
    const std::int64_t begin = task * piece;
    body(begin, count - begin < piece ? count : begin + piece);
  });
}

}  // namespace lockstep::inline v0::backend::cpu
