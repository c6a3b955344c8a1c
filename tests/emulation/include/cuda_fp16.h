// Stand-in of CUDA's cuda_fp16.h: the type, its conversions, and arithmetic by way of float32.
#pragma once

#include "cuda_runtime.h"
#include "emulated_round.hpp"

struct __half_raw {
  unsigned short x;
};

struct __half {
  __half() = default;
  __half(float value) : bits_(emulation::half_bits(value)) {}
  __half(double value) : bits_(emulation::half_bits(value)) {}
  __half(int value) : __half(static_cast<double>(value)) {}
  __half(__half_raw raw) : bits_(raw.x) {}
  operator float() const { return emulation::half_value(bits_); }
  operator __half_raw() const { return {bits_}; }

 private:
  unsigned short bits_;
};
using half = __half;

struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;

inline __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
inline unsigned short __half_as_ushort(__half value) { return __half_raw(value).x; }
inline float __half2float(__half value) { return value; }
inline __half __float2half(float value) { return value; }
inline __half __float2half_rn(float value) { return value; }
inline __half __double2half(double value) { return value; }
inline float2 __half22float2(__half2 value) { return {value.x, value.y}; }
inline __half2 __float22half2_rn(float2 value) { return {value.x, value.y}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }

inline __half operator+(__half a, __half b) { return float{a} + float{b}; }
inline __half operator-(__half a, __half b) { return float{a} - float{b}; }
inline __half operator*(__half a, __half b) { return float{a} * float{b}; }
inline __half operator/(__half a, __half b) { return float{a} / float{b}; }
inline bool operator==(__half a, __half b) { return float{a} == float{b}; }
inline bool operator<(__half a, __half b) { return float{a} < float{b}; }
inline bool operator>(__half a, __half b) { return float{a} > float{b}; }
inline bool __hisnan(__half value) { return std::isnan(float{value}); }
