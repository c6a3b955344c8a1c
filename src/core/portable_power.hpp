// The power function without libm, by the rules of portable_math.hpp. After fdlibm's e_pow.c (Sun
// Microsystems, 2004): the logarithm with some 14 digits more than float64 has, multiplied in two
// parts.
#pragma once

#include "core/portable_math.hpp"

namespace lockstep::inline v0::portable {

#define LOCKSTEP_MATH [[gnu::always_inline, maybe_unused]] static constexpr

/// A number as the sum of two, of which `high` has few digits, so that products of it are exact.
struct TwoParts {
  double high;
  double low;
};

LOCKSTEP_MATH double without_low_word(double x) noexcept {
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, x) & 0xffffffff00000000U);
}

/// log2(x) for finite x > 0.
LOCKSTEP_MATH TwoParts log2_in_parts(double x) noexcept {
  const bool denormal = x < 0x1p-1022;
  const double scaled = denormal ? x * 0x1p54 : x;
  // x = 2^n * m with m in [sqrt(3) / 2, sqrt(3)), and m near 1 or 3/2.
  const std::uint64_t bits =
      __builtin_bit_cast(std::uint64_t, scaled) + (0x3ff0000000000000U - 0x3febb67a00000000U);
  const std::uint64_t exponent = (bits >> 52) + 0x4338000000000000U;
  const double n = (__builtin_bit_cast(double, exponent) - kRound64) - (denormal ? 1077.0 : 1023.0);
  const double m = __builtin_bit_cast(double, (bits & 0x000fffffffffffffU) + 0x3febb67a00000000U);
  const double above = m > 1.2247448713915889 ? 1.0 : 0.0;  // sqrt(3 / 2)
  const double base = 1.0 + 0.5 * above;
  const double of_base_high = 5.84962487220764160156e-01 * above;
  const double of_base_low = 1.35003920212974897128e-08 * above;

  // s = (m - base) / (m + base) in two parts.
  const double difference = m - base;
  const double over = 1.0 / (m + base);
  const double s = difference * over;
  const double s_high = without_low_word(s);
  const double sum_high = without_low_word(m + base);
  const double sum_low = m - (sum_high - base);
  const double s_low = over * ((difference - s_high * sum_high) - s_high * sum_low);

  // log(m / base) = 2 s + 2/3 s^3 + ..., as 2/3 s (3 + s^2 + ...).
  const double s2 = s * s;
  double series = 2.06975017800338417784e-01;
  series = series * s2 + 2.30660745775561754067e-01;
  series = series * s2 + 2.72728123808534006489e-01;
  series = series * s2 + 3.33333329818377432918e-01;
  series = series * s2 + 4.28571428578550184252e-01;
  series = series * s2 + 5.99999999999994648725e-01;
  const double rest = s2 * s2 * series + s_low * (s_high + s);
  const double square = s_high * s_high;
  const double factor_high = without_low_word(3.0 + square + rest);
  const double factor_low = rest - ((factor_high - 3.0) - square);
  const double u = s_high * factor_high;
  const double v = s_low * factor_high + factor_low * s;
  const double product_high = without_low_word(u + v);
  const double product_low = v - (product_high - u);
  // Times 2 / (3 log(2)), of which the first constant is the leading part.
  const double log_high = 9.61796700954437255859e-01 * product_high;
  const double log_low = -7.02846165095275826516e-09 * product_high +
                         product_low * 9.61796693925975554329e-01 + of_base_low;
  const double high = without_low_word(((log_high + log_low) + of_base_high) + n);
  return {high, log_low - (((high - n) - of_base_high) - log_high)};
}

/// x between -bound and bound; a NaN stays.
LOCKSTEP_MATH double limited(double x, double bound) noexcept {
  const double lowered = x > bound ? bound : x;
  return lowered < -bound ? -bound : lowered;
}

/// 2^(high + low).
LOCKSTEP_MATH double exp2_of_parts(TwoParts x) noexcept {
  // Infinity and 0 lie beyond +-1100, where a low part that is larger than 1 no longer matters.
  const double high = limited(x.high, 1100.0);
  const double low = limited(x.low, 1.0);
  const double n = ((high + low) + kRound64) - kRound64;
  const double part = high - n;
  const double t = without_low_word(part + low);
  const double t_low = low - (t - part);
  return scaled_exp(n, t * 6.93147182464599609375e-01,
                    -(t_low * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09));
}

/// Any y beyond is even, and gives what this one does.
inline constexpr double kLargestPower = 0x1p66;

LOCKSTEP_MATH bool is_whole(double size) noexcept {
  return !(size < 0x1p52) | ((size + 0x1p52) - 0x1p52 == size);
}

/// x^y as C defines it, within 1 unit in the last place, for |y| <= kLargestPower: pow(x, 0) =
/// pow(1, y) = 1, NaN for x < 0 and y that is not whole. Conditions are joined by & and |, since &&
/// and || would be branches.
LOCKSTEP_MATH double pow(double x, double y) noexcept {
  const double infinity = __builtin_inf();
  const double size = abs(x);
  const TwoParts log2 = log2_in_parts(size);
  const double y_high = without_low_word(y);
  const double finite =
      exp2_of_parts({y_high * log2.high, (y - y_high) * log2.high + y * log2.low});
  const double of_end = (size == 0) == (y > 0) ? 0.0 : infinity;
  const bool at_end = (size == 0) | (size == infinity);
  const double positive = at_end ? of_end : finite;

  const bool whole = is_whole(abs(y));
  const bool even = is_whole(abs(y) * 0.5);
  const bool negative = (__builtin_bit_cast(std::uint64_t, x) >> 63) != 0;
  const bool changes_sign = negative & whole & !even;
  const double of_signed = changes_sign ? -positive : positive;
  const bool undefined = (x < 0) & (x > -infinity) & !whole;
  const double result = undefined ? __builtin_nan("") : of_signed;
  const bool is_number = (x == x) & (y == y);
  const double propagated = is_number ? result : x + y;
  const bool is_one = (y == 0) | (x == 1);
  return is_one ? 1.0 : propagated;
}

/// By way of float64.
LOCKSTEP_MATH float pow(float x, float y) noexcept {
  return static_cast<float>(pow(static_cast<double>(x), static_cast<double>(y)));
}

#undef LOCKSTEP_MATH

}  // namespace lockstep::inline v0::portable
