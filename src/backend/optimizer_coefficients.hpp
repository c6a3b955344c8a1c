// The numbers of an optimizer pass as every backend uses them: computed in float64 on the host and
// rounded once, so that backends agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend/coefficients.hpp"
#include "backend/optimizer.hpp"

namespace lockstep::inline v0::backend {

/// base^exponent by squaring: std::pow may differ in the last bit between machines.
inline double power(double base, std::int64_t exponent) {
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

}  // namespace lockstep::inline v0::backend
