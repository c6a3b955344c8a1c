// Backend family: deterministic reductions: the order of the sum depends on the extents alone, not
// on threads or vector width. Sums are added up in float64 and rounded once to dtype.
#pragma once

#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

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
  /// x (rows, columns) -> int64 (rows): index of the first largest; a NaN counts as largest.
  /// columns > 0.
  virtual void argmax(DType dtype, const void* x, std::int64_t rows, std::int64_t columns,
                      std::int64_t* result, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
