// One pass over a rank's samples, batch by batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <lockstep/data/loader.hpp>

#include "data/prefetcher.hpp"

namespace lockstep::inline v0::data::detail {

struct EpochPlan {
  const Dataset* dataset;
  std::vector<std::int64_t> order;  // this rank's samples
  std::int64_t batch_size;
  std::int64_t batch_count;
  int prefetch;
  Device device;
};

class EpochState {
 public:
  explicit EpochState(EpochPlan plan) : plan_(std::move(plan)) {}

  /// Makes the first batch current; nothing if one is.
  void begin();
  /// Makes the next batch current. If its read throws, the epoch is at its end.
  void advance();
  bool at_end() const noexcept { return next_ > plan_.batch_count; }
  const Batch& current() const noexcept { return current_; }
  std::int64_t batch_count() const noexcept { return plan_.batch_count; }

 private:
  Batch read(std::int64_t batch) const;
  Batch fetch(std::int64_t batch);

  EpochPlan plan_;
  Batch current_;
  std::int64_t next_ = 0;  // the batch after the current one
  std::optional<Prefetcher> prefetcher_;
};

}  // namespace lockstep::inline v0::data::detail
