#include "kernels/adam.hpp"

#include <cmath>

#include "kernels/segments.cuh"

namespace lockstep::kernels {
namespace {

__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double root(double x) { return sqrt(x); }

/// Products and sums are rounded one by one, in the order written.
template <class T>
struct Adam {
  T* values;
  const T* gradients;
  T* first_moment;
  T* second_moment;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i, const AdamSegment<T>& with,
                                      T gradient_scale) const {
    Pack<T, kWidth> value = load<kWidth>(values + i);
    const Pack<T, kWidth> read = load<kWidth>(gradients + i);
    Pack<T, kWidth> m = load<kWidth>(first_moment + i);
    Pack<T, kWidth> v = load<kWidth>(second_moment + i);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      T gradient = read.values[j] * gradient_scale;
      // Without the decay the value is not read into the gradient: 0 * infinity would be NaN.
      if (with.l2_decay != 0) gradient += with.l2_decay * value.values[j];
      m.values[j] = with.beta1 * m.values[j] + with.one_minus_beta1 * gradient;
      v.values[j] = with.beta2 * v.values[j] + (with.one_minus_beta2 * gradient) * gradient;
      const T step =
          (with.rate * m.values[j]) / (root(v.values[j]) * with.root_scale + with.epsilon);
      value.values[j] = value.values[j] * with.keep - step;
    }
    store(first_moment + i, m);
    store(second_moment + i, v);
    store(values + i, value);
  }
};

}  // namespace

cudaError_t adam(Type type, const ArenaPointers& arena, const void* segments, int segment_count,
                 std::int64_t begin, std::int64_t end, const StepScalars& scalars,
                 cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Adam<T> update{static_cast<T*>(arena.values), static_cast<const T*>(arena.gradients),
                         static_cast<T*>(arena.first_moment), static_cast<T*>(arena.second_moment)};
    const auto* table = static_cast<const AdamSegment<T>*>(segments);
    if (are_aligned(16, arena.values, arena.gradients, arena.first_moment, arena.second_moment))
      return launch_segments<kPackWidth<T>, T>(update, table, segment_count, begin, end, scalars,
                                               stream);
    return launch_segments<1, T>(update, table, segment_count, begin, end, scalars, stream);
  });
}

}  // namespace lockstep::kernels
