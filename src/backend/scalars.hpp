// Backend family: single numbers of a training step, computed where the gradients are, so that the
// host need not wait for them.
#pragma once

#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

struct ClipInput {
  const double* sum_of_squares = nullptr;  // of the gradients as they lie in memory
  double host_factor = 1;                  // both factors are still to be multiplied into them
  const double* factor = nullptr;          // may be null
  double max_norm = 0;
};

/// What a device finds and cannot throw about: kept there, and thrown by the next read of a value.
enum class Problem : std::int32_t {
  label_out_of_range = 1,
  frozen_differently = 2,
  other_step = 4,
  index_out_of_range = 8
};

/// All pointers are device memory, one element each.
class Scalars {
 public:
  virtual ~Scalars() = default;
  /// *result = numerator / *word, 0 where the word is 0. float32 and float64 words.
  virtual void quotient(DType dtype, const void* word, double numerator, double* result,
                        Queue queue) = 0;
  /// *norm = sqrt(*sum_of_squares) * |host_factor * *factor|; *clipped = *factor (1 if null), times
  /// max_norm / (*norm + 1e-6) where that is below 1.
  virtual void clip(const ClipInput& input, double* norm, double* clipped, Queue queue) = 0;
  /// y *= *factor, rounded to dtype first. float32 and float64.
  virtual void scale(DType dtype, const double* factor, void* y, std::int64_t count,
                     Queue queue) = 0;
  /// Reports the problem where *word is not `expected`: at once where the host reads results, else
  /// with the next value that is read back. float32 and float64.
  /// @throws InvalidUsage
  virtual void report_unequal(DType dtype, const void* word, double expected, Problem problem,
                              Queue queue) = 0;
  /// *flag = 1 if an element is infinite or NaN; left as it is otherwise.
  virtual void flag_non_finite(DType dtype, const void* x, std::int64_t count, std::int32_t* flag,
                               Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
