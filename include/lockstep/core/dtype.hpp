// The element types of tensors.
#pragma once

#include <cstdint>

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0 {

enum class DType : std::uint8_t { float32, float64, bfloat16, float16, int64, int32, uint8 };

/// Bytes of one element.
constexpr std::int64_t byte_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::float64:
    case DType::int64:
      return 8;
    case DType::bfloat16:
    case DType::float16:
      return 2;
    case DType::uint8:
      return 1;
  }
  return 0;
}

/// float32, float64, bfloat16 or float16.
constexpr bool is_floating_point(DType dtype) noexcept {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16 ||
         dtype == DType::float16;
}

/// "float32" and so on.
LOCKSTEP_API const char* name(DType dtype) noexcept;

namespace detail {
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct DTypeOf<long long> {
  static constexpr DType value = DType::int64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::uint8;
};
}  // namespace detail

/// The dtype that stores a C++ type: float, double, std::int64_t, std::int32_t, std::uint8_t.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

}  // namespace lockstep::inline v0
