// Backend family: deterministic reductions: the order of the sum depends on the extents alone, not
// on threads or vector width. Sums are added up in float64 and rounded once to dtype.
#pragma once

#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

/// An array as seen from one of its axes.
struct Extents {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

class Reduction {
 public:
  virtual ~Reduction() = default;
  /// x (outer, extent, inner) -> result (outer, inner): factor * sum over extent (+ result if
  /// accumulate). An extent of 0 gives 0.
  virtual void sum(DType dtype, const void* x, std::int64_t outer, std::int64_t extent,
                   std::int64_t inner, double factor, bool accumulate, void* result,
                   Queue queue) = 0;
  /// Sum of squares, added up in float64 into *result (device memory, one double): += .
  virtual void add_sum_of_squares(DType dtype, const void* x, std::int64_t count, void* result,
                                  Queue queue) = 0;
  /// sum of (a - b)^2 times factor -> one element of dtype.
  virtual void squared_difference(DType dtype, const void* a, const void* b, std::int64_t count,
                                  double factor, void* result, Queue queue) = 0;
  /// x (outer, extent, inner) -> the largest (or smallest) over extent and the index of the first
  /// of them, (outer, inner) both; either may be null. A NaN wins. float32, float64, int64, int32;
  /// extent > 0.
  virtual void extreme(DType dtype, bool maximum, const void* x, const Extents& size, void* values,
                       std::int64_t* indexes, Queue queue) = 0;
  /// result (outer, extent, inner) = gradient (outer, inner) at the indexes, 0 everywhere else.
  virtual void extreme_backward(DType dtype, const void* gradient, const std::int64_t* indexes,
                                const Extents& size, void* result, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
