#include "data/epoch_state.hpp"

#include <algorithm>
#include <span>

namespace lockstep::inline v0::data::detail {

void EpochState::begin() {
  if (next_ == 0) advance();
}

void EpochState::advance() {
  if (at_end()) return;
  current_ =
      {};  // before the read, so that its buffers can be used again unless somebody holds them
  const auto batch = next_;
  next_ = plan_.batch_count + 1;
  if (batch == plan_.batch_count) return;
  current_ = fetch(batch);
  next_ = batch + 1;
}

Batch EpochState::fetch(std::int64_t batch) {
  if (plan_.prefetch > 0 && !prefetcher_)
    prefetcher_.emplace([this](std::int64_t i) { return read(i); }, plan_.batch_count,
                        plan_.prefetch);
  Batch result = prefetcher_ ? prefetcher_->next() : read(batch);
  result.inputs = result.inputs.to(plan_.device);
  if (result.targets.defined()) result.targets = result.targets.to(plan_.device);
  return result;
}

Batch EpochState::read(std::int64_t batch) const {
  const auto first = batch * plan_.batch_size;
  const auto count =
      std::min(plan_.batch_size, static_cast<std::int64_t>(plan_.order.size()) - first);
  return plan_.dataset->read(
      std::span(plan_.order)
          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

}  // namespace lockstep::inline v0::data::detail
