// BucketExchange: all-reduces gradients bucket by bucket as they become ready. Under
// GradientSynchronizer and Replica.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <lockstep/comm/communicator.hpp>
#include <lockstep/parallel/gradient_synchronizer.hpp>

namespace lockstep::inline v0::detail {

class BucketExchange {
 public:
  /// `ranks` is this object's own.
  BucketExchange(Communicator ranks, const SynchronizerOptions& options);

  /// Registers memory; the first added is expected to become ready last.
  std::int64_t add(std::string name, Tensor gradient);
  /// Forms the buckets: in reverse order of add(), closed when they reach their size, one dtype
  /// each.
  void commit();
  bool committed() const noexcept { return committed_; }
  /// One line per gradient and one for the options, for comparison over ranks.
  std::vector<std::string> description() const;

  void set_sample_count(double samples);
  /// Marks a gradient; launches every bucket that is complete and whose turn it is. Thread-safe.
  void ready(std::int64_t id);
  bool is_ready(std::int64_t id) const { return entries_[static_cast<std::size_t>(id)].ready; }
  /// Overwrites a gradient with zeros and marks it.
  void ready_as_zero(std::int64_t id);
  /// Whether a step has begun, and whether all its gradients are ready.
  bool begun() const noexcept { return ready_count_ > 0; }
  bool complete() const noexcept {
    return ready_count_ == static_cast<std::int64_t>(entries_.size());
  }
  /// Names of gradients that are not ready, "a, b and 3 more".
  std::string missing() const;
  /// Waits for all buckets; needs complete(). Returns the factor that turns the sums in memory into
  /// the average.
  double finish();
  /// Forgets a step that was begun. Only without other ranks.
  void reset();

  std::int64_t entry_count() const noexcept { return static_cast<std::int64_t>(entries_.size()); }
  Tensor& gradient(std::int64_t id) { return entries_[static_cast<std::size_t>(id)].gradient; }
  const SynchronizerCounters& counters() const noexcept { return counters_; }
  std::int64_t bucket_count() const noexcept { return static_cast<std::int64_t>(buckets_.size()); }
  const Communicator& ranks() const noexcept { return ranks_; }

 private:
  struct Entry {
    std::string name;
    Tensor gradient;
    std::size_t bucket = 0;
    bool ready = false;
  };
  struct Bucket {
    std::vector<std::size_t> entries;  // in order of memory if that is adjacent
    std::int64_t byte_count = 0;
    Tensor flat;          // the slice that holds all entries, or memory of the bucket's own
    bool packed = false;  // memory of its own: copied in and out
    std::int64_t missing = 0;
    Work work;
  };

  void form_flat(Bucket& bucket);
  void launch(Bucket& bucket);
  void weigh(Bucket& bucket);
  void poll_sometimes();
  void copy_in(Bucket& bucket);
  void copy_out(Bucket& bucket);
  double average_factor();
  void begin_next_step();

  Communicator ranks_;
  SynchronizerOptions options_;
  SynchronizerCounters counters_;
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  bool committed_ = false;

  std::mutex mutex_;  // of what changes in a step
  std::int64_t ready_count_ = 0;
  std::size_t next_bucket_ = 0;
  std::chrono::steady_clock::time_point next_poll_{};
  double samples_ = 1;
  Tensor sample_sum_;  // weighted: one float64
  Work sample_work_;
};

}  // namespace lockstep::inline v0::detail
