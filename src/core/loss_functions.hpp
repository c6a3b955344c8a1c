// The losses that are a sum over pairs of a prediction and a target: one struct each, read by the
// vector code of the CPU and by the kernels alike. By the rules of portable_math.hpp.
//
// `value` is computed in float64 and added up; `slope` and `target_slope` are its derivatives by x
// and by t. `number` is the one that the loss has beside them.
#pragma once

#include "core/pair_loss.hpp"
#include "core/portable_math.hpp"

namespace lockstep::inline v0::portable {

#define LOCKSTEP_MATH [[gnu::always_inline, maybe_unused]] static constexpr

/// log(1 + z) within 2 units in the last place, for 0 <= z <= 1.
LOCKSTEP_MATH double log1p(double z) noexcept {
  const double sum = 1.0 + z;
  return log(sum) + (z - (sum - 1.0)) / sum;  // with what the sum has lost
}

/// -(p t log(s) + (1 - t) log(1 - s)) with s = sigmoid(x); the number p is the weight of positive
/// targets. With w = 1 + (p - 1) t this is (1 - t) x + w log(1 + exp(-x)), and where that would be
/// a difference, for x < 0, -p t x + w log(1 + exp(x)).
struct BceWithLogits {
  static constexpr auto kKind = PairLossKind::bce_with_logits;
  static constexpr const char* kName = "bce_with_logits";
  LOCKSTEP_MATH double value(double x, double t, double p) {
    const double linear = (x < 0 ? -p * t : 1.0 - t) * x;
    return linear + (1.0 + (p - 1.0) * t) * log1p(exp(-abs(x)));
  }
  template <class T>
  LOCKSTEP_MATH T slope(T x, T t, T p) {
    return (T{1} + (p - T{1}) * t) * sigmoid(x) - p * t;
  }
  template <class T>
  LOCKSTEP_MATH T target_slope(T x, T, T p) {
    const double wide = static_cast<double>(x);
    const double weight = static_cast<double>(p) - 1.0;
    const double of_minus = log1p(exp(-abs(wide))) + (wide < 0 ? -wide : 0.0);
    return static_cast<T>(weight * of_minus - wide);
  }
};

/// (x - t)^2 / 2 up to |x - t| = delta, which is the number; delta (|x - t| - delta / 2) beyond.
struct Huber {
  static constexpr auto kKind = PairLossKind::huber;
  static constexpr const char* kName = "huber_loss";
  LOCKSTEP_MATH double value(double x, double t, double delta) {
    const double size = abs(x - t);
    return size < delta ? 0.5 * size * size : delta * (size - 0.5 * delta);
  }
  template <class T>
  LOCKSTEP_MATH T slope(T x, T t, T delta) {
    const T difference = x - t;
    const T raised = difference < -delta ? -delta : difference;
    return raised > delta ? delta : raised;
  }
  template <class T>
  LOCKSTEP_MATH T target_slope(T x, T t, T delta) {
    return slope(t, x, delta);
  }
};

struct L1 {
  static constexpr auto kKind = PairLossKind::l1;
  static constexpr const char* kName = "l1_loss";
  LOCKSTEP_MATH double value(double x, double t, double) { return abs(x - t); }
  template <class T>
  LOCKSTEP_MATH T slope(T x, T t, T) {
    const T difference = x - t;
    return difference > 0 ? T{1} : (difference < 0 ? T{-1} : T{0});
  }
  template <class T>
  LOCKSTEP_MATH T target_slope(T x, T t, T number) {
    return slope(t, x, number);
  }
};

/// visitor(Function{}) for every loss.
template <class Visitor>
LOCKSTEP_MATH void for_each_pair_loss(const Visitor& visitor) {
  visitor(BceWithLogits{});
  visitor(Huber{});
  visitor(L1{});
}

LOCKSTEP_MATH const char* name_of(PairLossKind kind) {
  const char* name = "?";
  for_each_pair_loss([&](auto loss) {
    if (loss.kKind == kind) name = loss.kName;
  });
  return name;
}

#undef LOCKSTEP_MATH

}  // namespace lockstep::inline v0::portable
