#include "comm/nccl/followers.hpp"

namespace lockstep::inline v0::detail::nccl {

void Followers::add(std::shared_ptr<Flight> flight, std::shared_ptr<WorkState> followed) {
  const std::lock_guard lock(mutex_);
  drop_finished();
  followers_.push_back({std::move(flight), std::move(followed), std::this_thread::get_id()});
}

void Followers::drop_finished() {
  while (!followers_.empty() && link_->landed(*followers_.front().flight)) followers_.pop_front();
}

void Followers::clear() {
  const std::lock_guard lock(mutex_);
  followers_.clear();
}

void Followers::check() {
  Follower oldest;
  {
    const std::lock_guard lock(mutex_);
    drop_finished();
    if (followers_.empty()) return;
    oldest = followers_.front();
  }
  telling(*this, [&] {
    if (oldest.thread == std::this_thread::get_id())
      (void)oldest.followed->done();
    else
      link_->require_alive();
  });
}

}  // namespace lockstep::inline v0::detail::nccl
