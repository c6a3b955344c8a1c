// Rounding to the 16-bit types, once and to nearest even, also from float64.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace emulation {

inline constexpr std::uint16_t kNan16 = 0x7fff;  // what the device makes of every NaN

inline std::uint16_t half_bits(double value) {
  const auto all = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(all >> 48 & 0x8000u);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return kNan16;
  if (magnitude >= 65520.0) return sign | 0x7c00u;
  if (magnitude < 0x1p-14) {  // subnormal: the sum has steps of 2^-24
    const auto steps = std::bit_cast<std::uint64_t>(magnitude + 0x1p28);
    return static_cast<std::uint16_t>(sign | (steps & 0x7ffu));
  }
  const std::uint64_t bits = all & 0x7fffffffffffffffu;
  const std::uint64_t rounded = bits + ((std::uint64_t{1} << 41) - 1) + (bits >> 42 & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded >> 42) - ((1023u - 15u) << 10)));
}

inline float half_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xffu : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

inline std::uint16_t bfloat16_bits(float value) {
  if (std::isnan(value)) return kNan16;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// By way of a float32 that keeps in its last bit whether anything was cut off.
inline std::uint16_t bfloat16_bits(double value) {
  const auto near = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(near) == value) return bfloat16_bits(near);
  auto bits = std::bit_cast<std::uint32_t>(near);
  if (std::fabs(static_cast<double>(near)) > std::fabs(value)) --bits;
  return bfloat16_bits(std::bit_cast<float>(bits | 1u));
}

inline float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace emulation
