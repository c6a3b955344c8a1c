// Stand-in of CUDA's vector_types.h and vector_functions.h: the vectors that kernels load and store
// at once, aligned as there.
#pragma once

#include "driver_types.h"

#define EMULATED_VECTOR_2(T, name, alignment) \
  struct alignas(alignment) name {            \
    T x, y;                                   \
  };                                          \
  inline name make_##name(T x, T y) { return {x, y}; }
#define EMULATED_VECTOR_4(T, name, alignment) \
  struct alignas(alignment) name {            \
    T x, y, z, w;                             \
  };                                          \
  inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }

EMULATED_VECTOR_2(short, short2, 4)
EMULATED_VECTOR_2(unsigned short, ushort2, 4)
EMULATED_VECTOR_2(int, int2, 8)
EMULATED_VECTOR_2(unsigned int, uint2, 8)
EMULATED_VECTOR_2(float, float2, 8)
EMULATED_VECTOR_2(long long, longlong2, 16)
EMULATED_VECTOR_2(unsigned long long, ulonglong2, 16)
EMULATED_VECTOR_2(double, double2, 16)
EMULATED_VECTOR_4(unsigned char, uchar4, 4)
EMULATED_VECTOR_4(short, short4, 8)
EMULATED_VECTOR_4(unsigned short, ushort4, 8)
EMULATED_VECTOR_4(int, int4, 16)
EMULATED_VECTOR_4(unsigned int, uint4, 16)
EMULATED_VECTOR_4(float, float4, 16)

#undef EMULATED_VECTOR_2
#undef EMULATED_VECTOR_4

inline uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return {x, y, z}; }
