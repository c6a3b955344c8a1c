#include "backend/cpu/cpu_optimizer.hpp"

#include <cmath>

#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/thread_pool.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

/// base^exponent by squaring: std::pow may differ in the last bit between machines.
double power(double base, std::int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

template <class T>
AdamCoefficients<T> coefficients(const AdamSegment& segment, double gradient_scale) {
  return {
      .gradient_scale = static_cast<T>(gradient_scale),
      .l2_decay = static_cast<T>(segment.l2_decay),
      .keep = static_cast<T>(1 - segment.learning_rate * segment.decoupled_decay),
      .beta1 = static_cast<T>(segment.beta1),
      .one_minus_beta1 = static_cast<T>(1 - segment.beta1),
      .beta2 = static_cast<T>(segment.beta2),
      .one_minus_beta2 = static_cast<T>(1 - segment.beta2),
      .rate = static_cast<T>(segment.learning_rate / (1 - power(segment.beta1, segment.step))),
      .root_scale = static_cast<T>(1 / std::sqrt(1 - power(segment.beta2, segment.step))),
      .epsilon = static_cast<T>(segment.epsilon),
  };
}

template <class T>
SgdCoefficients<T> coefficients(const SgdSegment& segment, double gradient_scale) {
  return {
      .gradient_scale = static_cast<T>(gradient_scale),
      .weight_decay = static_cast<T>(segment.weight_decay),
      .momentum = static_cast<T>(segment.momentum),
      .one_minus_dampening = static_cast<T>(1 - segment.dampening),
      .learning_rate = static_cast<T>(segment.learning_rate),
      .nesterov = segment.nesterov,
      .first_step = segment.first_step,
  };
}

template <class T>
T* at(void* arena, std::int64_t index) {
  return arena == nullptr ? nullptr : static_cast<T*>(arena) + index;
}

}  // namespace

void CpuOptimizer::adam(DType dtype, const ArenaPointers& arena,
                        std::span<const AdamSegment> segments, Queue) {
  with_float_type("adam", dtype, [&]<class T>(Type<T>) {
    for (const AdamSegment& segment : segments) {
      const auto with = coefficients<T>(segment, arena.gradient_scale);
      for_ranges(segment.end - segment.begin, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = segment.begin + begin;
        kernels_for<T>().optimizer->adam(
            with, at<T>(arena.values, first), static_cast<const T*>(arena.gradients) + first,
            at<T>(arena.first_moment, first), at<T>(arena.second_moment, first), end - begin);
      });
    }
  });
}

void CpuOptimizer::sgd(DType dtype, const ArenaPointers& arena,
                       std::span<const SgdSegment> segments, Queue) {
  with_float_type("sgd", dtype, [&]<class T>(Type<T>) {
    for (const SgdSegment& segment : segments) {
      const auto with = coefficients<T>(segment, arena.gradient_scale);
      for_ranges(segment.end - segment.begin, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = segment.begin + begin;
        kernels_for<T>().optimizer->sgd(
            with, at<T>(arena.values, first), static_cast<const T*>(arena.gradients) + first,
            segment.momentum == 0 ? nullptr : at<T>(arena.first_moment, first), end - begin);
      });
    }
  });
}

}  // namespace lockstep::inline v0::backend::cpu
