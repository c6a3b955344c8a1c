// Softmax of a row.
#pragma once

#include "backend/cpu/vector/lanes.hpp"
#include "core/portable_math.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

/// A NaN is never larger.
template <class T>
T largest_of(const T* x, std::int64_t count) {
  LaneVector<T> lanes(static_cast<T>(-__builtin_inf()));
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) lanes.take_larger(x + i);
  T tree[kLanes];
  lanes.store(tree);
  for (std::int64_t lane = 0; i < count; ++i, ++lane)
    tree[lane] = x[i] > tree[lane] ? x[i] : tree[lane];
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t lane = 0; lane < half; ++lane)
      tree[lane] = tree[lane + half] > tree[lane] ? tree[lane + half] : tree[lane];
  return tree[0];
}

template <class T>
[[gnu::always_inline]] inline void exponentials(const T* x, T largest, T* result, Lanes& lanes) {
  T values[kLanes];
  double terms[kLanes];
  LOCKSTEP_LANES
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    values[lane] = portable::exp_below_one(x[lane] - largest);
  LOCKSTEP_LANES
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    terms[lane] = static_cast<double>(values[lane]);
  __builtin_memcpy(result, values, sizeof values);
  lanes.sums.add(terms);
}

/// Writes exp(x - largest) and the largest element; returns the sum of what it wrote.
template <class T>
double exponentials_of_row(const T* x, std::int64_t count, T* result, T* largest) {
  const T top = largest_of(x, count);
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) exponentials(x + i, top, result + i, lanes);
  if (i < count) {  // the rest as a full set of lanes too: a row of 10 is all rest
    T tail[kLanes];
    const std::int64_t rest = count - i;
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      tail[lane] = static_cast<T>(-__builtin_inf());
    for (std::int64_t lane = 0; lane < rest; ++lane) tail[lane] = x[i + lane];
    exponentials(tail, top, tail, lanes);
    for (std::int64_t lane = 0; lane < rest; ++lane) result[i + lane] = tail[lane];
  }
  *largest = top;
  return lanes.total();
}

template <class T>
double softmax_row(const T* logits, std::int64_t classes, T* softmax, T* largest) {
  const double sum = exponentials_of_row(logits, classes, softmax, largest);
  const T factor = static_cast<T>(1.0 / sum);
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < classes; ++i) softmax[i] = softmax[i] * factor;
  return sum;
}

}  // namespace
}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
