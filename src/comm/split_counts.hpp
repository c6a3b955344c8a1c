// Cuts a count of elements into parts that an MPI call can take.
#pragma once

#include <climits>
#include <cstdint>

namespace lockstep::inline v0::detail {

/// MPI counts are int.
inline constexpr std::int64_t kMostElementsPerCall = INT_MAX;

/// The parts of `count` elements, each of 1 to `most` elements: all of them full but the last.
class SplitCounts {
 public:
  SplitCounts(std::int64_t count, std::int64_t most) noexcept : count_(count), most_(most) {}

  std::int64_t parts() const noexcept { return count_ / most_ + (count_ % most_ != 0); }
  std::int64_t offset(std::int64_t part) const noexcept { return part * most_; }
  int size(std::int64_t part) const noexcept {
    const std::int64_t rest = count_ - offset(part);
    return static_cast<int>(rest < most_ ? rest : most_);
  }

 private:
  std::int64_t count_;
  std::int64_t most_;
};

/// @pre count >= 0, 1 <= most <= INT_MAX.
inline SplitCounts split_counts(std::int64_t count,
                                std::int64_t most = kMostElementsPerCall) noexcept {
  return {count, most};
}

}  // namespace lockstep::inline v0::detail
