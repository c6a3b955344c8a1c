// The thread that looks after the links of this process while something is in flight on one: errors
// that NCCL reports by itself, and deadlines, for a program that sits in a wait of its own. It
// calls neither MPI nor the program. It starts with the first link and ends with the last.
#pragma once

#include <chrono>
#include <memory>

namespace lockstep::inline v0::detail::nccl {

class Link;

void watch(const std::shared_ptr<Link>& link);
/// Returns when the thread does not use it any more.
void unwatch(const Link& link) noexcept;
/// For tests: the time between two looks at what is in flight, 2 ms at first.
void set_monitor_interval(std::chrono::milliseconds interval) noexcept;
/// Something was launched.
void wake_monitor() noexcept;

}  // namespace lockstep::inline v0::detail::nccl
