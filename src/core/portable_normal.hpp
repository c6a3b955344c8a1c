// The normal distribution without libm, by the rules of portable_math.hpp.
#pragma once

#include "core/portable_math.hpp"

namespace lockstep::inline v0::portable {

#define LOCKSTEP_MATH [[gnu::always_inline, maybe_unused]] static constexpr

// exp(t^2 / 2) times the tail of the normal distribution, for t >= 0: a polynomial in
// v = (t - k) / (t + k) over t + k, which hardly varies. Chebyshev coefficients of that product, on
// [0, 13.25] with k = 3 and on [0, 38.7] with k = 4; errors 2^-23.8 and 2^-54.
LOCKSTEP_MATH float scaled_tail(float t) noexcept {
  const float over = 1.0F / (t + 3.0F);
  const float v = (t - 3.0F) * over;
  float p = -0.000288838476F;
  p = p * v + -0.000931759802F;
  p = p * v + 0.0010883632F;
  p = p * v + 0.00694543863F;
  p = p * v + -0.0104818801F;
  p = p * v + -0.0472608581F;
  p = p * v + 0.230019496F;
  p = p * v + -0.509332022F;
  p = p * v + 0.729083664F;
  return p * over;
}
LOCKSTEP_MATH double scaled_tail(double t) noexcept {
  const double over = 1.0 / (t + 4.0);
  const double v = (t - 4.0) * over;
  double p = -9.5621419413901533e-10;
  p = p * v + 1.0224726491484444e-10;
  p = p * v + 1.3924750026698568e-08;
  p = p * v + 1.4491552241886113e-08;
  p = p * v + -7.6438551917496241e-08;
  p = p * v + -1.541585568185949e-07;
  p = p * v + 2.6378767789026641e-07;
  p = p * v + 1.0197401004557502e-06;
  p = p * v + -6.2522246981306263e-07;
  p = p * v + -5.9188721288027788e-06;
  p = p * v + 7.1505029996612521e-07;
  p = p * v + 3.5144178921617615e-05;
  p = p * v + -1.9078799671199431e-06;
  p = p * v + -0.00023109481885068614;
  p = p * v + 0.00013334425646137048;
  p = p * v + 0.0016308184420875094;
  p = p * v + -0.0034796923624975541;
  p = p * v + -0.0075401889656160955;
  p = p * v + 0.060396574890713046;
  p = p * v + -0.18652185795969312;
  p = p * v + 0.38713740074221858;
  p = p * v + -0.60789664197189175;
  p = p * v + 0.75528513041575152;
  return p * over;
}

/// exp(-t^2 / 2) for t up to 13.2, within 2 + t^2 units in the last place.
LOCKSTEP_MATH float bell(float t) noexcept {
  const float x = -0.5F * (t * t);
  const float rounded = x * 0x1.715476p+0f + kRound32;
  return exp_over_power(x, rounded - kRound32) * power_of_two(rounded);
}

/// The same for t up to 39, within 2 units: the square in two parts.
LOCKSTEP_MATH double bell(double t) noexcept {
  const double high = __builtin_bit_cast(
      double, __builtin_bit_cast(std::uint64_t, t) & 0xfffffffff8000000U);  // half of the digits
  const double low = -0.5 * ((t - high) * (t + high));
  const double x = -0.5 * (high * high);
  const double n = (x * 0x1.71547652b82fep+0 + kRound64) - kRound64;
  return scaled_exp(n, x - n * 6.93147180369123816490e-01, n * 1.90821492927058770002e-10 - low);
}

/// Where the tail counts as 0: below the smallest normal number.
template <class T>
inline constexpr T kFarTail = static_cast<T>(sizeof(T) == 4 ? 13.2 : 39);

/// t P(X > t) = t erfc(t / sqrt(2)) / 2 of the normal distribution, for t >= 0. Within 7 units in
/// the last place in float64; in float32 within 5 + t^2.
template <class T>
LOCKSTEP_MATH T normal_tail_product(T t) noexcept {
  const T product = t * (scaled_tail(t) * bell(t));
  return t > kFarTail<T> ? T{0} : product;
}

/// P(X > t) less t times the density, which is exp(-t^2 / 2) / sqrt(2 pi).
template <class T>
LOCKSTEP_MATH T normal_tail_less_moment(T t) noexcept {
  const T less = (scaled_tail(t) - static_cast<T>(0.398942280401432677940) * t) * bell(t);
  return t > kFarTail<T> ? T{0} : less;
}

#undef LOCKSTEP_MATH

}  // namespace lockstep::inline v0::portable
