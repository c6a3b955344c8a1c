#include "data/prefetcher.hpp"

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::data::detail {

namespace {

// The program's signals stay with the program's threads.
template <class Function>
std::thread start_without_signals(Function&& function) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(std::string("[data] cannot start a thread to read ahead (") + error.what() +
                "); LoaderOptions.prefetch = 0 needs none");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Prefetcher::Prefetcher(std::function<Batch(std::int64_t)> read, std::int64_t count, int capacity)
    : read_(std::move(read)), count_(count), capacity_(static_cast<std::size_t>(capacity)) {
  thread_ = start_without_signals([this] { read_all(); });
}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_one();
  thread_.join();
}

Batch Prefetcher::next() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [this] { return !ahead_.empty() || error_; });
  if (ahead_.empty()) std::rethrow_exception(std::exchange(error_, nullptr));
  Batch batch = std::move(ahead_.front());
  ahead_.pop_front();
  lock.unlock();
  room_.notify_one();
  return batch;
}

bool Prefetcher::wait_for_room() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return stop_ || ahead_.size() < capacity_; });
  return !stop_;
}

void Prefetcher::read_all() {
  for (std::int64_t i = 0; i < count_ && wait_for_room(); ++i) {
    Batch batch;
    std::exception_ptr error;
    try {
      batch = read_(i);
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      if (error)
        error_ = error;
      else
        ahead_.push_back(std::move(batch));
    }
    filled_.notify_one();
    if (error) return;
  }
}

}  // namespace lockstep::inline v0::data::detail
