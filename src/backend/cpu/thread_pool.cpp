#include "backend/cpu/thread_pool.hpp"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::inline v0::backend::cpu {
namespace {

std::atomic<int> thread_count{1};

class ThreadPool {
 public:
  ~ThreadPool() { stop(); }

  /// False if the pool is in use or cannot be used here; nothing was run then.
  bool run(std::int64_t tasks, void (*body)(void*, std::int64_t), void* context) {
    if (in_use_.test_and_set(std::memory_order_acquire)) return false;
    const bool usable = start(loop_thread_count() - 1);
    if (usable) share(tasks, body, context);
    in_use_.clear(std::memory_order_release);
    return usable;
  }

 private:
  /// After fork() the child has none of the threads, so it works alone.
  bool start(int wanted) {
    if (threads_.empty()) process_ = getpid();
    if (process_ != getpid()) return false;
    try {
      while (static_cast<int>(threads_.size()) < wanted) threads_.emplace_back([this] { serve(); });
    } catch (const std::exception&) {
      // A system at its limit of threads: go on with those that are there.
    }
    return !threads_.empty();
  }

  void share(std::int64_t tasks, void (*body)(void*, std::int64_t), void* context) {
    {
      const std::lock_guard lock(mutex_);
      body_ = body;
      context_ = context;
      tasks_ = tasks;
      next_.store(0, std::memory_order_relaxed);
      places_ = loop_thread_count() - 1;
    }
    wake_.notify_all();
    take_tasks();
    // A thread that has not woken by now is not waited for: its core may be busy.
    std::unique_lock lock(mutex_);
    places_ = 0;
    done_.wait(lock, [this] { return active_ == 0; });
  }

  void take_tasks() {
    for (std::int64_t task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;)
      body_(context_, task);
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || places_ > 0; });
      if (stopping_) return;
      --places_;
      ++active_;
      lock.unlock();
      take_tasks();
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  void stop() {
    if (!threads_.empty() && process_ != getpid()) {
      for (auto& thread : threads_) thread.detach();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  std::atomic_flag in_use_;
  std::vector<std::thread> threads_;
  pid_t process_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  void (*body_)(void*, std::int64_t) = nullptr;
  void* context_ = nullptr;
  std::int64_t tasks_ = 0;
  std::atomic<std::int64_t> next_{0};
  int places_ = 0;  // threads that may still join the loop that is running
  int active_ = 0;  // threads that have joined it
  bool stopping_ = false;
};

ThreadPool& pool() {
  static ThreadPool instance;
  return instance;
}

}  // namespace

int loop_thread_count() noexcept { return thread_count.load(std::memory_order_relaxed); }

void set_loop_thread_count(int count) { thread_count.store(count, std::memory_order_relaxed); }

void run_tasks(std::int64_t tasks, void (*body)(void*, std::int64_t), void* context) {
  if (pool().run(tasks, body, context)) return;
  for (std::int64_t task = 0; task < tasks; ++task) body(context, task);
}

}  // namespace lockstep::inline v0::backend::cpu
