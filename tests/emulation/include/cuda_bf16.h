// Stand-in of CUDA's cuda_bf16.h: the type, its conversions, and arithmetic by way of float32.
#pragma once

#include "cuda_runtime.h"
#include "emulated_round.hpp"

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : bits_(emulation::bfloat16_bits(value)) {}
  __nv_bfloat16(double value) : bits_(emulation::bfloat16_bits(value)) {}
  __nv_bfloat16(int value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(__nv_bfloat16_raw raw) : bits_(raw.x) {}
  operator float() const { return emulation::bfloat16_value(bits_); }
  operator __nv_bfloat16_raw() const { return {bits_}; }

 private:
  unsigned short bits_;
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16_raw{bits}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
  return __nv_bfloat16_raw(value).x;
}
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
inline __nv_bfloat16 __double2bfloat16(double value) { return value; }
inline float2 __bfloat1622float2(__nv_bfloat162 value) { return {value.x, value.y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 value) { return {value.x, value.y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }

inline __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) { return float{a} + float{b}; }
inline __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) { return float{a} - float{b}; }
inline __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) { return float{a} * float{b}; }
inline __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) { return float{a} / float{b}; }
inline bool operator==(__nv_bfloat16 a, __nv_bfloat16 b) { return float{a} == float{b}; }
inline bool operator<(__nv_bfloat16 a, __nv_bfloat16 b) { return float{a} < float{b}; }
inline bool operator>(__nv_bfloat16 a, __nv_bfloat16 b) { return float{a} > float{b}; }
inline bool __hisnan(__nv_bfloat16 value) { return std::isnan(float{value}); }
