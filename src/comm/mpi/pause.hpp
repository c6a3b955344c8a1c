// How whoever waits gives way between two looks.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace lockstep::inline v0::detail::mpi {

using Clock = std::chrono::steady_clock;

/// "5.0 s".
inline std::string seconds_text(Clock::duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

/// Looks again at once for a short while, then yields, then sleeps longer and longer. Where ranks
/// share cores it yields from the start: the rank that is waited for may need this core.
class Pause {
 public:
  explicit Pause(bool cores_are_shared) noexcept
      : spin_(cores_are_shared ? Clock::duration{0} : kSpin),
        begin_(Clock::now()),
        idle_since_(begin_) {}

  Clock::duration waited() const noexcept { return Clock::now() - begin_; }
  /// Something moved, so more may follow soon.
  void restart() noexcept { idle_since_ = Clock::now(); }

  void operator()() {
    const auto idle = Clock::now() - idle_since_;
    if (idle < spin_) return;
    if (idle < kYield) {
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(std::min<Clock::duration>(kShortSleep + idle / 1000, kLongSleep));
  }

 private:
  static constexpr Clock::duration kSpin = std::chrono::milliseconds{2};
  static constexpr Clock::duration kYield = std::chrono::milliseconds{20};
  static constexpr Clock::duration kShortSleep = std::chrono::microseconds{50};
  static constexpr Clock::duration kLongSleep = std::chrono::milliseconds{1};

  Clock::duration spin_;
  Clock::time_point begin_;
  Clock::time_point idle_since_;
};

}  // namespace lockstep::inline v0::detail::mpi
