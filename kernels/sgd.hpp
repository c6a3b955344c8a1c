// One pass of stochastic gradient descent over an arena. float32 and float64; the same bits as on
// the CPU.
#pragma once

#include "kernels/optimizer.hpp"

namespace lockstep::kernels {

template <class T>
struct SgdSegment {
  std::int64_t begin;
  std::int64_t end;
  T weight_decay;
  T momentum;  // 0: the arena's buffer is not used
  T one_minus_dampening;
  T learning_rate;
  bool nesterov;
  bool first_step;  // the momentum buffer is set, not updated
};

/// `segments`: device memory, SgdSegment<T>[segment_count], sorted by begin, disjoint, all within
/// [begin, end).
cudaError_t sgd(Type type, const ArenaPointers& arena, const void* segments, int segment_count,
                std::int64_t begin, std::int64_t end, const StepScalars& scalars,
                cudaStream_t stream);

}  // namespace lockstep::kernels
