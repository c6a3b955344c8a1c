// Reads batches ahead on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include <lockstep/data/dataset.hpp>

namespace lockstep::inline v0::data::detail {

class Prefetcher {
 public:
  /// Calls read(0), read(1), ... read(count - 1) on the thread, at most `capacity` ahead of next().
  Prefetcher(std::function<Batch(std::int64_t)> read, std::int64_t count, int capacity);
  /// Stops after the read in progress, if any, and joins the thread.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next batch, in order, or what its read threw. At most `count` calls, none after a throw.
  Batch next();

 private:
  void read_all();
  bool wait_for_room();

  std::function<Batch(std::int64_t)> read_;
  std::int64_t count_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<Batch> ahead_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace lockstep::inline v0::data::detail
