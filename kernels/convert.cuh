// Conversions between all element types, in integer arithmetic and selects where the hardware or
// C++ would leave a choice: the CPU backend computes the same bits the same way. Rounding is to
// nearest even; a NaN stays one and becomes quiet. constexpr, so that the host may call them too.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

template <class T>
inline constexpr bool kIsHalf = false;
template <>
inline constexpr bool kIsHalf<Bfloat16> = true;
template <>
inline constexpr bool kIsHalf<Float16> = true;
template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;

constexpr std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
constexpr float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

constexpr float widen(Bfloat16 x) {
  const std::uint32_t bits = std::uint32_t{x.bits} << 16;
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return float_of(nan ? bits | 0x00400000U : bits);
}

constexpr float widen(Float16 x) {
  const std::uint32_t sign = (std::uint32_t{x.bits} & 0x8000U) << 16;
  const std::uint32_t shifted = (std::uint32_t{x.bits} & 0x7fffU) << 13;
  const std::uint32_t exponent = shifted & 0x0f800000U;
  const std::uint32_t normal = shifted + 0x38000000U;
  const bool nan = shifted > 0x0f800000U;
  const std::uint32_t special = (shifted + 0x70000000U) | (nan ? 0x00400000U : 0U);
  // A subnormal is mantissa * 2^-24: put the mantissa under the exponent of 2^-14 and take 2^-14
  // away again.
  const std::uint32_t small = bits_of(float_of(shifted + 0x38800000U) - float_of(0x38800000U));
  const std::uint32_t magnitude =
      exponent == 0x0f800000U ? special : (exponent == 0 ? small : normal);
  return float_of(magnitude | sign);
}

constexpr void narrow(float x, Bfloat16& result) {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  result.bits = static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x0040U : rounded);
}

constexpr void narrow(float x, Float16& result) {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0x0fffU + ((magnitude >> 13) & 1U)) >> 13;
  const bool is_nan = magnitude > 0x7f800000U;
  // Below 2^-14 the addition of 0.5 shifts the mantissa to its place and rounds it. (A NaN is kept
  // out of the sum: a constant expression must not compute with one.)
  const std::uint32_t small = bits_of(float_of(is_nan ? 0U : magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x03ffU);
  const std::uint32_t finite = magnitude < 0x38800000U ? small : normal;
  const std::uint32_t large = is_nan ? nan : 0x7c00U;
  result.bits = static_cast<std::uint16_t>(sign | (magnitude >= 0x47800000U ? large : finite));
}

/// float32 with the rounding left to a later, narrower rounding: what does not fit makes the last
/// bit odd, so that rounding twice cannot go wrong.
constexpr float to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  const std::uint64_t wanted = __builtin_bit_cast(std::uint64_t, x) & 0x7fffffffffffffffU;
  const std::uint64_t found = __builtin_bit_cast(std::uint64_t, back) & 0x7fffffffffffffffU;
  const std::uint32_t bits = bits_of(nearest);
  const std::uint32_t toward_zero = found > wanted ? bits - 1U : bits;
  const bool exact = found == wanted || x != x;
  return float_of(exact ? bits : toward_zero | 1U);
}

/// The same from an integer, by way of float64.
constexpr float to_odd(std::int64_t x) {
  const std::uint64_t magnitude =
      x < 0 ? 0U - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const std::uint64_t sticky =
      (magnitude & ~std::uint64_t{0xfff}) | ((magnitude & 0xfffU) != 0 ? 0x800U : 0U);
  const std::uint64_t kept = (magnitude >> 52) != 0 ? sticky : magnitude;
  const double value = static_cast<double>(kept >> 1) * 2.0 + static_cast<double>(kept & 1U);
  return to_odd(x < 0 ? -value : value);
}

/// Truncates; out of range saturates and NaN is 0, where C++ leaves the result undefined.
template <class To, class From>
constexpr To truncate(From x) {
  constexpr bool kSigned = static_cast<To>(-1) < To{0};
  constexpr int kBits = static_cast<int>(sizeof(To)) * 8 - (kSigned ? 1 : 0);
  constexpr From kEnd = static_cast<From>(std::uint64_t{1} << (kBits - 1)) * 2;
  constexpr To kLargest = static_cast<To>((((std::uint64_t{1} << (kBits - 1)) - 1) << 1) | 1);
  constexpr To kSmallest = kSigned ? static_cast<To>(-kLargest - 1) : To{0};
  const bool above = x >= kEnd;
  const bool below = kSigned ? x < -kEnd : x <= From{-1};
  const bool usable = !above && !below && x == x;
  const To inside = static_cast<To>(usable ? x : From{0});
  return above ? kLargest : (below ? kSmallest : inside);
}

template <class From, class To>
constexpr void convert(From x, To& result) {
  if constexpr (kIsHalf<From>) {
    convert(widen(x), result);
  } else if constexpr (kIsHalf<To>) {
    if constexpr (sizeof(From) == 8)
      narrow(to_odd(x), result);
    else if constexpr (kIsFloat<From>)
      narrow(x, result);
    else
      narrow(to_odd(static_cast<double>(x)), result);
  } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    result = truncate<To>(x);
  } else {
    result = static_cast<To>(x);
  }
}

template <class To, class From>
constexpr To converted(From x) {
  To result{};
  convert(x, result);
  return result;
}

}  // namespace lockstep::kernels
