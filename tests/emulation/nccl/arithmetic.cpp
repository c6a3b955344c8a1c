#include "emulation/nccl/arithmetic.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace emulation::nccl {
namespace {

constexpr std::size_t kBlock = 64;  // elements that are added in one order

template <class To, class From>
To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// Rounds to nearest even after each operation, as the device's own 16-bit arithmetic does.
struct Bfloat16 {
  std::uint16_t word;
  operator float() const { return bits<float>(std::uint32_t{word} << 16); }
  static Bfloat16 from(float value) {
    const auto word = bits<std::uint32_t>(value);
    if (std::isnan(value)) return {0x7fff};
    return {static_cast<std::uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16)};
  }
};

struct Float16 {
  std::uint16_t word;
  operator float() const {
    const int exponent = (word >> 10) & 31;
    const float fraction = static_cast<float>(word & 1023) / 1024;
    float value =
        std::ldexp(exponent == 0 ? fraction : 1 + fraction, exponent == 0 ? -14 : exponent - 15);
    if (exponent == 31) value = (word & 1023) != 0 ? NAN : INFINITY;
    return (word & 0x8000) != 0 ? -value : value;
  }
  static Float16 from(float value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const auto with_sign = [&](int word) {
      return Float16{static_cast<std::uint16_t>(sign | word)};
    };
    if (std::isnan(value)) return {0x7fff};
    const float magnitude = std::fabs(value);
    if (magnitude >= 65520) return with_sign(0x7c00);
    // In units of the last place: nearbyint rounds to even, and a carry comes out right.
    const int exponent = magnitude < 0x1p-14F ? -14 : std::ilogb(magnitude);
    const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    return with_sign(exponent == -14 && units < 1024 ? units
                                                     : units - 1024 + ((exponent + 15) << 10));
  }
};

template <class T>
T combine(ncclRedOp_t op, T a, T b) {
  switch (op) {
    case ncclProd:
      return static_cast<T>(a * b);
    case ncclMax:
      return std::fmax(static_cast<double>(a), static_cast<double>(b)) == static_cast<double>(a)
                 ? a
                 : b;
    case ncclMin:
      return std::fmin(static_cast<double>(a), static_cast<double>(b)) == static_cast<double>(a)
                 ? a
                 : b;
    default:
      return static_cast<T>(a + b);
  }
}

template <>
std::int64_t combine(ncclRedOp_t op, std::int64_t a, std::int64_t b) {
  const auto wrapped = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  if (op == ncclMax) return a > b ? a : b;
  if (op == ncclMin) return a < b ? a : b;
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  return wrapped(op == ncclProd ? x * y : x + y);
}

template <>
Bfloat16 combine(ncclRedOp_t op, Bfloat16 a, Bfloat16 b) {
  return Bfloat16::from(combine<float>(op, a, b));
}

template <>
Float16 combine(ncclRedOp_t op, Float16 a, Float16 b) {
  return Float16::from(combine<float>(op, a, b));
}

template <class T>
void reduce_as(ncclRedOp_t op, const std::vector<const void*>& sources, void* result,
               std::size_t count) {
  const std::size_t ranks = sources.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = (ranks - 1 + i / kBlock) % ranks;
    const auto value = [&](std::size_t rank) { return static_cast<const T*>(sources[rank])[i]; };
    T sum = value(first);
    for (std::size_t step = 1; step < ranks; ++step)
      sum = combine<T>(op, sum, value((first + ranks - step) % ranks));
    static_cast<T*>(result)[i] = sum;
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

void reduce(ncclDataType_t type, ncclRedOp_t op, const std::vector<const void*>& sources,
            void* result, std::size_t count) {
  switch (type) {
    case ncclFloat32:
      return reduce_as<float>(op, sources, result, count);
    case ncclFloat64:
      return reduce_as<double>(op, sources, result, count);
    case ncclFloat16:
      return reduce_as<Float16>(op, sources, result, count);
    case ncclBfloat16:
      return reduce_as<Bfloat16>(op, sources, result, count);
    case ncclInt64:
      return reduce_as<std::int64_t>(op, sources, result, count);
    case ncclInt32:
      return reduce_as<std::int32_t>(op, sources, result, count);
    case ncclUint32:
      return reduce_as<std::uint32_t>(op, sources, result, count);
    case ncclUint64:
      return reduce_as<std::uint64_t>(op, sources, result, count);
    case ncclInt8:
      return reduce_as<std::int8_t>(op, sources, result, count);
    default:
      return reduce_as<std::uint8_t>(op, sources, result, count);
  }
}

}  // namespace emulation::nccl
