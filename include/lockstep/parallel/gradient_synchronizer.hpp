// GradientSynchronizer: averages gradients over ranks, bucket by bucket, while backward runs.
// docs/data_parallel.md: algorithm, order, bytes on the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <lockstep/comm/communicator.hpp>
#include <lockstep/core/units.hpp>

namespace lockstep::inline v0 {

namespace detail {
class SynchronizerState;
}

/// mean: sum over ranks / number of ranks. sum. weighted: each rank's gradient counts by its number
/// of samples (set_sample_count), so the result is the mean over all samples.
enum class Averaging : std::uint8_t { mean, sum, weighted };

struct SynchronizerOptions {
  std::int64_t bucket_bytes = 25 * MiB;
  std::int64_t first_bucket_bytes = 1 * MiB;  // small, so that the exchange starts early
  Averaging averaging = Averaging::mean;
  SumOrder order = SumOrder::fastest;
};

struct SynchronizerCounters {
  std::int64_t steps = 0;          // windows synchronized
  std::int64_t collectives = 0;    // all-reduces of buckets
  std::int64_t bytes_reduced = 0;  // payload of these, on this rank
  std::int64_t bytes_copied = 0;   // packed into or out of a bucket because memory was not adjacent
};

/// For gradients of one's own. Add each one, commit() once, then in each step: ready(id) for every
/// gradient, finish(). With one rank nothing is exchanged and nothing started.
class LOCKSTEP_API GradientSynchronizer {
 public:
  /// Duplicates the communicator (collective).
  explicit GradientSynchronizer(const Communicator& ranks, const SynchronizerOptions& options = {});
  GradientSynchronizer(GradientSynchronizer&&) noexcept;
  GradientSynchronizer& operator=(GradientSynchronizer&&) noexcept;
  ~GradientSynchronizer();

  /// Registers a gradient (floating-point; refers to its memory) and returns its id. The first
  /// added are expected to become ready last, as in backward. Before commit() only. @throws
  /// InvalidUsage
  std::int64_t add(std::string name, Tensor gradient);
  /// Collective: compares count, names, shapes, dtypes and options of all ranks, and forms the
  /// buckets.
  /// @throws InvalidUsage on all ranks, naming the first difference and both values.
  void commit();

  /// This rank's part of the mean in Averaging::weighted, for the coming step; 0 is allowed. Before
  /// the first ready().
  void set_sample_count(double samples);
  /// The gradient is final for this step. From any thread, in any order. @throws InvalidUsage if it
  /// was ready before.
  void ready(std::int64_t id);
  /// For a gradient on a device: final once what is now on `stream` (a cudaStream_t of that device)
  /// has run. Does not wait. @throws InvalidUsage also for a gradient of the host
  void ready(std::int64_t id, void* stream);
  /// All gradients that are not ready are taken as zero (weighted: a rank without samples); then as
  /// finish().
  void finish_without_rest();
  void finish_without_rest(void* stream);
  /// Waits for the exchange; the gradients then hold the average. @throws InvalidUsage naming
  /// gradients that are not ready; CommunicationError.
  void finish();
  /// What is queued on `stream` (a cudaStream_t) from now on comes after the exchange and finds the
  /// average. Does not wait for the device; only the number of samples of Averaging::weighted is
  /// waited for. @throws InvalidUsage also without gradients on a device
  void finish(void* stream);

  const SynchronizerCounters& counters() const noexcept;
  std::int64_t bucket_count() const noexcept;
  const Communicator& ranks() const noexcept;

 private:
  std::unique_ptr<detail::SynchronizerState> state_;
};

}  // namespace lockstep::inline v0
