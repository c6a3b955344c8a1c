// One pass of Adam over an arena. float32 and float64; the same bits as on the CPU.
#pragma once

#include "kernels/optimizer.hpp"

namespace lockstep::kernels {

template <class T>
struct AdamSegment {
  std::int64_t begin;
  std::int64_t end;
  T l2_decay;
  T keep;  // 1 - learning_rate * decoupled_decay
  T beta1;
  T one_minus_beta1;
  T beta2;
  T one_minus_beta2;
  T rate;        // learning_rate / (1 - beta1^t)
  T root_scale;  // 1 / sqrt(1 - beta2^t)
  T epsilon;
};

/// `segments`: device memory, AdamSegment<T>[segment_count], sorted by begin, disjoint, all within
/// [begin, end).
cudaError_t adam(Type type, const ArenaPointers& arena, const void* segments, int segment_count,
                 std::int64_t begin, std::int64_t end, const StepScalars& scalars,
                 cudaStream_t stream);

}  // namespace lockstep::kernels
