#include "kernels/sgd.hpp"

#include "kernels/segments.cuh"

namespace lockstep::kernels {
namespace {

/// Products and sums are rounded one by one, in the order written.
template <class T>
struct Sgd {
  T* values;
  const T* gradients;
  T* momentum;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i, const SgdSegment<T>& with,
                                      T gradient_scale) const {
    Pack<T, kWidth> value = load<kWidth>(values + i);
    Pack<T, kWidth> direction = load<kWidth>(gradients + i);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      T gradient = direction.values[j] * gradient_scale;
      if (with.weight_decay != 0) gradient += with.weight_decay * value.values[j];
      direction.values[j] = gradient;
    }
    if (momentum != nullptr && with.momentum != 0) direct<kWidth>(i, with, direction);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) value.values[j] -= with.learning_rate * direction.values[j];
    store(values + i, value);
  }

  /// From gradients to directions, by way of the momentum buffer.
  template <int kWidth>
  __device__ __forceinline__ void direct(std::int64_t i, const SgdSegment<T>& with,
                                         Pack<T, kWidth>& direction) const {
    Pack<T, kWidth> buffer = load<kWidth>(momentum + i);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const T gradient = direction.values[j];
      // In the first step the buffer is set, whatever it holds.
      const T updated = with.momentum * buffer.values[j] + with.one_minus_dampening * gradient;
      buffer.values[j] = with.first_step ? gradient : updated;
      direction.values[j] =
          with.nesterov ? gradient + with.momentum * buffer.values[j] : buffer.values[j];
    }
    store(momentum + i, buffer);
  }
};

}  // namespace

cudaError_t sgd(Type type, const ArenaPointers& arena, const void* segments, int segment_count,
                std::int64_t begin, std::int64_t end, const StepScalars& scalars,
                cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Sgd<T> update{static_cast<T*>(arena.values), static_cast<const T*>(arena.gradients),
                        static_cast<T*>(arena.first_moment)};
    const auto* table = static_cast<const SgdSegment<T>*>(segments);
    if (are_aligned(16, arena.values, arena.gradients, arena.first_moment))
      return launch_segments<kPackWidth<T>, T>(update, table, segment_count, begin, end, scalars,
                                               stream);
    return launch_segments<1, T>(update, table, segment_count, begin, end, scalars, stream);
  });
}

}  // namespace lockstep::kernels
