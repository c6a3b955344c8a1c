// BucketExchange: all-reduces gradients bucket by bucket as they become ready. Under
// GradientSynchronizer and Replica.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/comm/communicator.hpp>
#include <lockstep/parallel/gradient_synchronizer.hpp>

namespace lockstep::inline v0::detail {

class BucketExchange {
 public:
  /// `ranks` is this object's own. `caller_averages`: buckets are summed, and the caller finds out
  /// by what to divide.
  BucketExchange(Communicator ranks, const SynchronizerOptions& options,
                 bool caller_averages = false);
  ~BucketExchange();
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;

  /// Registers memory; the first added is expected to become ready last.
  std::int64_t add(std::string name, Tensor gradient);
  /// Memory that is summed with the gradients, but never scaled.
  std::int64_t add_words(Tensor words);
  /// Forms the buckets: in reverse order of add(), closed when they reach their size, one dtype
  /// each.
  void commit();
  bool committed() const noexcept { return committed_; }
  /// One line per gradient and one for the options, for comparison over ranks.
  std::vector<std::string> description() const;

  void set_sample_count(double samples);
  /// Multiplied into this rank's gradients of the step before they are exchanged; 0 overwrites
  /// them. Before the first is ready.
  void set_local_scale(double scale) { local_scale_ = scale; }
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
  /// Whether all but this one are ready.
  bool lacks_only(std::int64_t id) const noexcept {
    return ready_count_ == entry_count() - 1 && !is_ready(id);
  }
  /// What is in flight, for an owner who goes away.
  std::vector<Work> take_works();
  /// Names of gradients that are not ready, "a, b and 3 more".
  std::string missing() const;
  /// Waits for all buckets; needs complete(). Returns the factor that turns the sums in memory into
  /// the average.
  double finish();
  /// Forgets a step that was begun. Only without other ranks.
  void reset();

  std::int64_t entry_count() const noexcept { return static_cast<std::int64_t>(entries_.size()); }
  Tensor& gradient(std::int64_t id) { return entries_[static_cast<std::size_t>(id)].gradient; }
  const SynchronizerCounters& counters() const noexcept { return *counters_; }
  /// The same for a recorded step, which may outlive this.
  std::shared_ptr<const SynchronizerCounters> shared_counters() const noexcept { return counters_; }
  std::int64_t bucket_count() const noexcept { return static_cast<std::int64_t>(buckets_.size()); }
  const Communicator& ranks() const noexcept { return ranks_; }

 private:
  struct Entry {
    std::string name;
    Tensor gradient;
    std::size_t bucket = 0;
    bool scaled = true;  // takes the local scale
    bool ready = false;
  };
  enum class Layout : char { by_add = 'a', by_reverse_add = 'r', packed = 'p' };
  struct Bucket {
    std::vector<std::size_t> entries;  // in reverse order of add()
    std::int64_t byte_count = 0;
    Layout layout = Layout::packed;  // in place only if all ranks have the same one
    Tensor flat;  // the slice that holds all entries, or memory of the bucket's own
    std::int64_t missing = 0;
    Work work;
  };

  void check_memory() const;
  /// Null if there is none of that dtype and device.
  Bucket* last_bucket_of(const Tensor& like);
  Layout layout_of(const Bucket& bucket) const;
  void agree_on_layouts();
  void prepare_scale();
  void form_flat(Bucket& bucket);
  void launch(Bucket& bucket);
  void scale(Bucket& bucket);
  void poll_sometimes();
  void copy_in(Bucket& bucket);
  void copy_out(Bucket& bucket);
  double average_factor();
  void count_step();
  void begin_next_step();

  Communicator ranks_;
  SynchronizerOptions options_;
  bool caller_averages_;
  std::shared_ptr<SynchronizerCounters> counters_ = std::make_shared<SynchronizerCounters>();
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  bool committed_ = false;

  std::mutex mutex_;  // of what changes in a step
  std::int64_t ready_count_ = 0;
  std::size_t next_bucket_ = 0;
  std::chrono::steady_clock::time_point next_poll_{};
  std::optional<double> samples_;  // weighted: of this step
  double local_scale_ = 1;
  Tensor sample_sum_;  // weighted: one float64
  Work sample_work_;
};

}  // namespace lockstep::inline v0::detail
