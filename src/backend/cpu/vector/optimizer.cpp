// Optimizer passes. Products and sums are rounded one by one, in the order written.
#include "backend/cpu/vector/tables.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

[[gnu::always_inline]] inline float root(float x) { return __builtin_sqrtf(x); }
[[gnu::always_inline]] inline double root(double x) { return __builtin_sqrt(x); }

template <bool kL2, class T>
void adam_loop(const AdamCoefficients<T>& coefficients, T* values, const T* gradients,
               T* first_moment, T* second_moment, std::int64_t count) {
  const AdamCoefficients<T> with = coefficients;  // a copy cannot alias the arrays
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    T gradient = gradients[i] * with.gradient_scale;
    if constexpr (kL2) gradient += with.l2_decay * values[i];
    const T m = with.beta1 * first_moment[i] + with.one_minus_beta1 * gradient;
    const T v = with.beta2 * second_moment[i] + (with.one_minus_beta2 * gradient) * gradient;
    first_moment[i] = m;
    second_moment[i] = v;
    const T step = (with.rate * m) / (root(v) * with.root_scale + with.epsilon);
    values[i] = values[i] * with.keep - step;
  }
}

template <class T>
void adam(const AdamCoefficients<T>& with, T* values, const T* gradients, T* first_moment,
          T* second_moment, std::int64_t count) {
  // Without the decay the value is not read into the gradient: 0 * infinity would be NaN.
  if (with.l2_decay != 0)
    adam_loop<true>(with, values, gradients, first_moment, second_moment, count);
  else
    adam_loop<false>(with, values, gradients, first_moment, second_moment, count);
}

template <bool kDecay, bool kMomentum, bool kNesterov, class T>
void sgd_loop(const SgdCoefficients<T>& coefficients, T* values, const T* gradients, T* momentum,
              std::int64_t count) {
  const SgdCoefficients<T> with = coefficients;
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    T gradient = gradients[i] * with.gradient_scale;
    if constexpr (kDecay) gradient += with.weight_decay * values[i];
    T direction = gradient;
    if constexpr (kMomentum) {
      // In the first step the buffer is set, whatever it holds.
      const T updated = with.momentum * momentum[i] + with.one_minus_dampening * gradient;
      const T buffer = with.first_step ? gradient : updated;
      momentum[i] = buffer;
      direction = kNesterov ? gradient + with.momentum * buffer : buffer;
    }
    values[i] -= with.learning_rate * direction;
  }
}

template <bool kDecay, class T>
void sgd_momentum(const SgdCoefficients<T>& with, T* values, const T* gradients, T* momentum,
                  std::int64_t count) {
  if (momentum == nullptr)
    sgd_loop<kDecay, false, false>(with, values, gradients, momentum, count);
  else if (with.nesterov)
    sgd_loop<kDecay, true, true>(with, values, gradients, momentum, count);
  else
    sgd_loop<kDecay, true, false>(with, values, gradients, momentum, count);
}

template <class T>
void sgd(const SgdCoefficients<T>& with, T* values, const T* gradients, T* momentum,
         std::int64_t count) {
  if (with.weight_decay != 0)
    sgd_momentum<true>(with, values, gradients, momentum, count);
  else
    sgd_momentum<false>(with, values, gradients, momentum, count);
}

}  // namespace

const OptimizerKernels<float> kOptimizer32 = {adam<float>, sgd<float>};
const OptimizerKernels<double> kOptimizer64 = {adam<double>, sgd<double>};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
