// Waiting on the host for a device's queue. A collective on that queue never ends if another rank
// is lost, so whoever waits also asks those who know about the ranks.
#pragma once

#include <functional>

namespace lockstep::inline v0::backend {

/// What a wait asks between two looks. It must not block, and throws where waiting makes no sense
/// any more, for example because a communicator has failed.
using WatchCheck = std::function<void()>;

/// Returns the number to unregister it by. A check may still run for a moment after that, so it
/// owns what it looks at.
int register_watch(WatchCheck check);
void unregister_watch(int number) noexcept;

/// Runs all checks; lets through what the first one throws.
void check_watches();

/// Returns when `finished` returns true: looks at once for a short while, then sleeps between two
/// looks. The checks are run in between and once at the end, so what a failed collective left
/// behind is not taken for a result. @throws what `finished` or a check throws
void wait_watched(const std::function<bool()>& finished);

}  // namespace lockstep::inline v0::backend
