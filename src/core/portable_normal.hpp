// The normal distribution without libm, by the rules of portable_math.hpp.
#pragma once

#include "core/portable_math.hpp"

namespace lockstep::inline v0::portable {

#define LOCKSTEP_MATH [[gnu::always_inline, maybe_unused]] static constexpr

// exp(t^2 / 2) times the tail of the normal distribution, for t >= 0: a polynomial in
// v = (t - 4) / (t + 4) over t + 4, which hardly varies. Chebyshev coefficients of that product on
// [0, 14.25] and [0, 38.7], beyond which the tail itself is 0; errors 2^-26 and 2^-54.
LOCKSTEP_MATH float scaled_tail(float t) noexcept {
  const float over = 1.0F / (t + 4.0F);
  const float v = (t - 4.0F) * over;
  float p = -0.000119507491F;
  p = p * v + 0.000202283767F;
  p = p * v + 0.00157181158F;
  p = p * v + -0.0035274335F;
  p = p * v + -0.00752937184F;
  p = p * v + 0.0604070623F;
  p = p * v + -0.186522617F;
  p = p * v + 0.387136651F;
  p = p * v + -0.607896623F;
  p = p * v + 0.755285139F;
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

/// x rounded to half of its digits, so that its square is exact.
LOCKSTEP_MATH float leading_digits(float x) noexcept {
  return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, x) + 0x800U) & 0xfffff000U);
}
LOCKSTEP_MATH double leading_digits(double x) noexcept {
  return __builtin_bit_cast(
      double, (__builtin_bit_cast(std::uint64_t, x) + 0x4000000U) & 0xfffffffff8000000U);
}

template <class T>
struct NormalTail {
  T tail;    // P(X > t) = erfc(t / sqrt(2)) / 2
  T moment;  // t times the density, which is exp(-t^2 / 2) / sqrt(2 pi)
};

/// For t >= 0. Within 6 units in the last place, small tails included.
template <class T>
LOCKSTEP_MATH NormalTail<T> normal_tail(T t) noexcept {
  constexpr T kFar = static_cast<T>(sizeof(T) == 4 ? 15 : 39);  // where exp(-t^2 / 2) is 0
  const T near = t > kFar ? kFar : t;                           // a NaN stays
  const T high = leading_digits(near);
  const T low = (near - high) * (near + high);
  const T z = exp_near(static_cast<T>(-0.5) * (high * high), static_cast<T>(-0.5) * low);
  return {scaled_tail(near) * z, near * (z * static_cast<T>(0.398942280401432677940))};
}

#undef LOCKSTEP_MATH

}  // namespace lockstep::inline v0::portable
