// 16 accumulators of float64: element i goes to lane i % 16 whatever the width of the vectors, and
// the lanes are added along one binary tree.
#pragma once

#include "backend/cpu/vector/tables.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

constexpr std::int64_t kLanes = 16;

struct Lanes {
  double sums[kLanes] = {};

  [[gnu::always_inline]] double total() const {
    double tree[kLanes];
    for (std::int64_t lane = 0; lane < kLanes; ++lane) tree[lane] = sums[lane];
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
      for (std::int64_t lane = 0; lane < half; ++lane) tree[lane] += tree[lane + half];
    return tree[0];
  }
};

/// Adds term(i) for i in [0, count).
template <class Term>
[[gnu::always_inline]] inline double sum_in_lanes(std::int64_t count, Term term) {
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes.sums[lane] += term(i + lane);
  for (std::int64_t lane = 0; i < count; ++i, ++lane) lanes.sums[lane] += term(i);
  return lanes.total();
}

}  // namespace
}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
