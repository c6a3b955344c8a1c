#include "comm/nccl/monitor.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
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
    ++wakings_;
    if (!idle_) return;
    { const std::lock_guard lock(mutex_); }  // not between its last look at wakings_ and its wait
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
      const std::uint64_t seen = wakings_;
      const bool idle = !look(lock, round);
      if (round != round_) return;
      idle_ = idle;
      if (idle)
        changed_.wait(lock, [&] { return wakings_ != seen || round != round_; });
      else
        changed_.wait_for(lock, between_looks.load());
      idle_ = false;
    }
  }

  /// Whether something is in flight. Without the lock while it looks at a link.
  bool look(std::unique_lock<std::mutex>& lock, std::int64_t round) {
    bool busy = false;
    for (std::size_t i = 0; i < links_.size() && round == round_; ++i) {
      Link* const link = links_[i].get();
      looked_at_ = link;
      lock.unlock();
      // This thread must not touch another device: a context there takes its memory.
      (void)cudaSetDevice(link->identity().device);
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
  // A launch counts, then asks whether the thread is idle; the thread says that it is, then asks
  // for the count. One of them sees the other.
  std::atomic<std::uint64_t> wakings_ = 0;
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
