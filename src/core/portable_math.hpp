// exp, log, tanh, sine, cosine and the logistic function without libm: branch-free, so that
// compilers vectorize them, and made of IEEE operations alone, so that every machine and every
// vector width gives the same bits (compiled with -ffp-contract=off). Reductions and polynomials
// after fdlibm (Sun Microsystems, 1993) and, for the float32 exponential and tanh, Cephes
// (S. Moshier).
//
// All functions have internal linkage: files compiled for unlike instruction sets include this.
// They are constexpr and without another header of ours, since the device code of kernels/ calls
// them too.
#pragma once

#include <cstdint>

namespace lockstep::inline v0::portable {

#define LOCKSTEP_MATH [[gnu::always_inline, maybe_unused]] static constexpr

// Adding and subtracting 1.5 * 2^(mantissa bits) rounds to an integer, and the low bits of the sum
// are that integer.
inline constexpr float kRound32 = 0x1.8p23f;
inline constexpr double kRound64 = 0x1.8p52;

/// 2^n from the sum n + kRound32, for n within the normal exponents.
LOCKSTEP_MATH float power_of_two(float rounded) noexcept {
  return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, rounded) + 127U) << 23);
}
LOCKSTEP_MATH double power_of_two(double rounded) noexcept {
  return __builtin_bit_cast(double, (__builtin_bit_cast(std::uint64_t, rounded) + 1023U) << 52);
}

/// exp(r) for |r| <= log(2) / 2.
LOCKSTEP_MATH float exp_of_remainder(float r) noexcept {
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return (p * (r * r) + r) + 1.0F;
}

/// exp(x) / 2^n, for the whole number n next to x / log(2).
LOCKSTEP_MATH float exp_over_power(float x, float n) noexcept {
  return exp_of_remainder((x - n * 0.693359375F) - n * -2.12194440e-4F);
}

/// Within 2 units in the last place; 0 below -103.98, infinity above 88.73; denormal results are
/// rounded once.
LOCKSTEP_MATH float exp(float x) noexcept {
  x = x > 89.0F ? 89.0F : x;  // a NaN fails both comparisons and stays
  x = x < -104.0F ? -104.0F : x;
  const float n = (x * 0x1.715476p+0f + kRound32) - kRound32;
  // In two steps, since 2^n alone may lie outside the normal range.
  const float half = n * 0.5F + kRound32;
  const float rest = (n - (half - kRound32)) + kRound32;
  return exp_over_power(x, n) * power_of_two(half) * power_of_two(rest);
}

/// exp(x) for x <= 0, with fewer operations: a result that would be subnormal (below -87.3) is 0.
LOCKSTEP_MATH float exp_below_one(float x) noexcept {
  const float shifted = x * 0x1.715476p+0f + kRound32;
  const float value = exp_over_power(x, shifted - kRound32) * power_of_two(shifted);
  return x < -87.3F ? 0.0F : value;  // a NaN stays one
}

/// 2^n exp(high - low), for |high - low| up to ln(2) / 2; `low` is a part that high has no digits
/// for.
LOCKSTEP_MATH double scaled_exp(double n, double high, double low) noexcept {
  const double r = high - low;
  const double t = r * r;
  double c = 4.13813679705723846039e-08;
  c = c * t + -1.65339022054652515390e-06;
  c = c * t + 6.61375632143793436117e-05;
  c = c * t + -2.77777777770155933842e-03;
  c = c * t + 1.66666666666666019037e-01;
  c = r - t * c;
  const double p = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
  const double half = n * 0.5 + kRound64;
  const double rest = (n - (half - kRound64)) + kRound64;
  return p * power_of_two(half) * power_of_two(rest);
}

/// Within 2 units in the last place; 0 below -745.2, infinity above 709.8.
LOCKSTEP_MATH double exp(double x) noexcept {
  x = x > 710.0 ? 710.0 : x;
  x = x < -746.0 ? -746.0 : x;
  const double n = (x * 0x1.71547652b82fep+0 + kRound64) - kRound64;
  return scaled_exp(n, x - n * 6.93147180369123816490e-01, n * 1.90821492927058770002e-10);
}

/// exp(x) for x <= 0.
LOCKSTEP_MATH double exp_below_one(double x) noexcept { return exp(x); }

/// Natural logarithm within 2 units in the last place; log(0) = -infinity, NaN below 0.
LOCKSTEP_MATH double log(double x) noexcept {
  const bool denormal = x < 0x1p-1022;
  const double scaled = denormal ? x * 0x1p54 : x;
  // x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  const std::uint64_t bits =
      __builtin_bit_cast(std::uint64_t, scaled) + (0x3ff0000000000000U - 0x3fe6a09e00000000U);
  const std::uint64_t exponent = (bits >> 52) + 0x4338000000000000U;
  const double k = (__builtin_bit_cast(double, exponent) - kRound64) - (denormal ? 1077.0 : 1023.0);
  const double f =
      __builtin_bit_cast(double, (bits & 0x000fffffffffffffU) + 0x3fe6a09e00000000U) - 1.0;
  const double half_square = 0.5 * f * f;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double result =
      (((s * (half_square + (even + odd)) + k * 1.90821492927058770002e-10) - half_square) + f) +
      k * 6.93147180369123816490e-01;
  const double infinity = __builtin_inf();
  const double finite = x > 0 ? result : (x == 0 ? -infinity : __builtin_nan(""));
  return x < infinity ? finite : (x == infinity ? infinity : x + x);
}

/// By way of float64: the correctly rounded value in all but a few cases in a billion.
LOCKSTEP_MATH float log(float x) noexcept {
  return static_cast<float>(log(static_cast<double>(x)));
}

struct SineCosine {
  double sine;
  double cosine;
};

/// sin(2 pi x) and cos(2 pi x) within 2 units in the last place, for |x| <= 2^50. The reduction is
/// exact, since whole turns are whole numbers.
LOCKSTEP_MATH SineCosine sine_cosine_of_turns(double x) noexcept {
  const double turn = x - ((x + kRound64) - kRound64);
  const double quarters = turn * 4.0 + kRound64;
  const std::uint64_t quadrant = __builtin_bit_cast(std::uint64_t, quarters);
  const double angle = (turn - (quarters - kRound64) * 0.25) * 6.283185307179586477;
  const double z = angle * angle;
  double s = 1.58969099521155010221e-10;
  s = s * z + -2.50507602534068634195e-08;
  s = s * z + 2.75573137070700676789e-06;
  s = s * z + -1.98412698298579493134e-04;
  s = s * z + 8.33333333332248946124e-03;
  s = s * z + -1.66666666666666324348e-01;
  s = angle + angle * z * s;
  double c = -1.13596475577881948265e-11;
  c = c * z + 2.08757232129817482790e-09;
  c = c * z + -2.75573143513906633035e-07;
  c = c * z + 2.48015872894767294178e-05;
  c = c * z + -1.38888888888741095749e-03;
  c = c * z + 4.16666666666666019037e-02;
  const double half_square = 0.5 * z;
  const double one_less = 1.0 - half_square;
  c = one_less + (((1.0 - one_less) - half_square) + z * z * c);
  const bool swapped = (quadrant & 1U) != 0;
  const double sine = swapped ? c : s;
  const double cosine = swapped ? s : c;
  return {(quadrant & 2U) != 0 ? -sine : sine, ((quadrant + 1U) & 2U) != 0 ? -cosine : cosine};
}

LOCKSTEP_MATH float abs(float x) noexcept {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, x) & 0x7fffffffU);
}
LOCKSTEP_MATH double abs(double x) noexcept {
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, x) & 0x7fffffffffffffffU);
}

/// 1 / (1 + exp(-x)).
template <class T>
LOCKSTEP_MATH T sigmoid(T x) noexcept {
  const T z = exp(x > 0 ? -x : x);  // at most 1
  return (x > 0 ? T{1} : z) / (T{1} + z);
}

/// tanh(x) / x - 1 as a function of x^2, for |x| < 0.625.
LOCKSTEP_MATH float tanh_near_0(float square) noexcept {
  float p = -5.70498872745e-3F;
  p = p * square + 2.06390887954e-2F;
  p = p * square + -5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square + -3.33332819422e-1F;
  return p * square;
}
LOCKSTEP_MATH double tanh_near_0(double square) noexcept {
  double p = -9.64399179425052238628e-1;
  p = p * square + -9.92877231001918586564e1;
  p = p * square + -1.61468768441708447952e3;
  double q = square + 1.12811678491632931402e2;
  q = q * square + 2.23548839060100448583e3;
  q = q * square + 4.84406305325125486048e3;
  return square * p / q;
}

/// Within 3 units in the last place.
template <class T>
LOCKSTEP_MATH T tanh(T x) noexcept {
  const T size = abs(x);
  const T z = exp(T{-2} * size);
  const T far = (T{1} - z) / (T{1} + z);
  const T near = x + x * tanh_near_0(x * x);
  return size < static_cast<T>(0.625) ? near : (x < 0 ? -far : far);
}

#undef LOCKSTEP_MATH

}  // namespace lockstep::inline v0::portable
