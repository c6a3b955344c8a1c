#include "comm/nccl/monitor.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/nccl/link.hpp"

namespace lockstep::inline v0::detail::nccl {
namespace {

std::atomic<std::chrono::milliseconds> between_looks{std::chrono::milliseconds{2}};

class Monitor {
 public:
  void add(const std::shared_ptr<Link>& link) {
    const std::lock_guard lock(mutex_);
    links_.push_back(link);
    if (links_.size() == 1) start();
  }

  void remove(const Link& link) noexcept {
    std::thread ended;
    {
      std::unique_lock lock(mutex_);
      std::erase_if(links_, [&](const auto& known) { return known.get() == &link; });
      changed_.wait(lock, [&] { return looked_at_ != &link; });
      if (links_.empty()) {
        ++round_;
        ended = std::move(thread_);
      }
    }
    changed_.notify_all();
    if (ended.joinable()) ended.join();
  }

  void wake() noexcept {
    if (!idle_.load(std::memory_order_relaxed)) return;
    {
      const std::lock_guard lock(mutex_);
      idle_ = false;
    }
    changed_.notify_all();
  }

 private:
  // With the lock. The program's signals are handled on the program's threads.
  void start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this, round = round_] { run(round); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run(std::int64_t round) {
    prctl(PR_SET_NAME, "lockstep-nccl");
    std::unique_lock lock(mutex_);
    while (round == round_) {
      idle_ = !look(lock, round);
      if (round != round_) return;
      if (idle_)
        changed_.wait(lock, [&] { return !idle_ || round != round_; });
      else
        changed_.wait_for(lock, between_looks.load());
    }
  }

  /// Whether something is in flight. Without the lock while it looks at a link.
  bool look(std::unique_lock<std::mutex>& lock, std::int64_t round) {
    bool busy = false;
    for (std::size_t i = 0; i < links_.size() && round == round_; ++i) {
      Link* const link = links_[i].get();
      looked_at_ = link;
      lock.unlock();
      const bool in_flight = link->look();
      lock.lock();
      looked_at_ = nullptr;
      changed_.notify_all();
      busy = busy || in_flight;
    }
    return busy;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Link>> links_;
  const Link* looked_at_ = nullptr;
  std::int64_t round_ = 0;  // grows when a thread has to end
  std::atomic<bool> idle_ = false;
  std::thread thread_;
};

// Never destroyed: a communicator may be released by a static object of the program.
Monitor& monitor() {
  static auto* instance = new Monitor;
  return *instance;
}

}  // namespace

void watch(const std::shared_ptr<Link>& link) { monitor().add(link); }
void unwatch(const Link& link) noexcept { monitor().remove(link); }
void set_monitor_interval(std::chrono::milliseconds interval) noexcept { between_looks = interval; }
void wake_monitor() noexcept { monitor().wake(); }

}  // namespace lockstep::inline v0::detail::nccl
