// DataLoader: the rank's own batches, read ahead on a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>

#include <lockstep/comm/environment.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/data/sampler.hpp>

namespace lockstep::inline v0::data {

namespace detail {
class EpochState;
struct LoaderState;
}  // namespace detail

struct LoaderOptions {
  std::int64_t batch_size_per_rank = 1;
  bool shuffle = false;
  Partition partition = Partition::padded;
  bool drop_last = false;                            // leave out the last batch if it is smaller
  std::optional<std::uint64_t> seed = std::nullopt;  // default: the environment's
  int prefetch = -1;  // batches read ahead on a thread; 0: none; -1: 2 if this rank has a core to
                      // spare, else 0
};

/// The batches of one epoch; a single pass. A batch's tensors stay valid as long as a handle to
/// them is kept.
class LOCKSTEP_API Epoch {
 public:
  class LOCKSTEP_API iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    const Batch& operator*() const;
    const Batch* operator->() const { return &**this; }
    iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.at_end(); }
    explicit iterator(detail::EpochState* state) : state_(state) {}

   private:
    bool at_end() const;
    detail::EpochState* state_;
  };

  iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// Number of batches.
  std::int64_t size() const;

  Epoch(Epoch&&) noexcept;
  Epoch& operator=(Epoch&&) noexcept;
  ~Epoch();
  explicit Epoch(std::unique_ptr<detail::EpochState> state);

 private:
  std::unique_ptr<detail::EpochState> state_;
};

/// Refers to the dataset, which must outlive it. Errors of a dataset's read() appear in the loop
/// that uses the batches.
class LOCKSTEP_API DataLoader {
 public:
  /// @throws InvalidUsage if the batch size is not positive.
  DataLoader(const Dataset& dataset, const Environment& environment, const LoaderOptions& options);
  /// For the given rank of so many, onto the given device.
  DataLoader(const Dataset& dataset, int rank, int ranks, const LoaderOptions& options,
             Device device = {});
  DataLoader(Dataset&&, const Environment&, const LoaderOptions&) = delete;
  DataLoader(Dataset&&, int, int, const LoaderOptions&, Device = {}) = delete;
  DataLoader(DataLoader&&) noexcept;
  DataLoader& operator=(DataLoader&&) noexcept;
  ~DataLoader();

  /// The batches of an epoch; the order depends on seed and epoch alone. An epoch may be empty.
  Epoch epoch(std::int64_t epoch);
  /// The next epoch each time (0, 1, ...), so a plain loop over the loader sees a new order in
  /// each.
  Epoch epoch();
  /// Batches per epoch on this rank.
  std::int64_t batch_count() const noexcept;
  /// Samples per epoch on this rank.
  std::int64_t sample_count() const noexcept;

 private:
  std::unique_ptr<detail::LoaderState> state_;
};

}  // namespace lockstep::inline v0::data
