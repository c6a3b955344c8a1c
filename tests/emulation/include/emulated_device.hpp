// What kernels call: barriers, exchange within a warp, atomics and arithmetic.
#pragma once

inline constexpr int warpSize = 32;

inline void __syncthreads() { emulation::block_barrier(); }
inline int __syncthreads_count(int predicate) { return emulation::block_sum(predicate != 0); }
inline int __syncthreads_or(int predicate) { return emulation::block_sum(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) { return emulation::block_sum(predicate == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulation::warp_ballot(mask, false); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return emulation::warp_ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return emulation::warp_ballot(mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return emulation::warp_ballot(mask, predicate == 0) == 0;
}

namespace emulation {

template <typename T>
T take_from(unsigned mask, T value, int source) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = warp_exchange(mask, bits, source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The first lane of this lane's part of the warp.
inline int segment(int width) { return lane() / width * width; }

}  // namespace emulation

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  const int lane = emulation::segment(width) + (source & (width - 1));
  return emulation::take_from(mask, value, lane);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) {
  const int lane = emulation::lane() ^ lane_mask;
  const bool is_own = lane >= emulation::segment(width) + width;
  return emulation::take_from(mask, value, is_own ? emulation::lane() : lane);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const int lane = emulation::lane() + static_cast<int>(delta);
  const bool is_own = lane >= emulation::segment(width) + width;
  return emulation::take_from(mask, value, is_own ? emulation::lane() : lane);
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const int lane = emulation::lane() - static_cast<int>(delta);
  const bool is_own = lane < emulation::segment(width);
  return emulation::take_from(mask, value, is_own ? emulation::lane() : lane);
}

// Threads run one at a time and change only at a barrier, so these are plain.
inline void __threadfence() {}
inline void __threadfence_block() {}

template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::exchange(*address, static_cast<T>(*address + value));
}
template <typename T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return std::exchange(*address, std::max(*address, value));
}
template <typename T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return std::exchange(*address, std::min(*address, value));
}
template <typename T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return std::exchange(*address, *address | value);
}
template <typename T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return std::exchange(*address, value);
}
template <typename T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return std::exchange(*address, *address == compare ? value : *address);
}

template <typename T>
T __ldg(const T* address) {
  return *address;
}

namespace emulation {

template <typename To, typename From>
To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

}  // namespace emulation

inline unsigned __float_as_uint(float value) { return emulation::bits_as<unsigned>(value); }
inline float __uint_as_float(unsigned value) { return emulation::bits_as<float>(value); }
inline int __float_as_int(float value) { return emulation::bits_as<int>(value); }
inline float __int_as_float(int value) { return emulation::bits_as<float>(value); }
inline long long __double_as_longlong(double value) { return emulation::bits_as<long long>(value); }
inline double __longlong_as_double(long long value) { return emulation::bits_as<double>(value); }

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __clz(int value) {
  return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value));
}
inline int __ffs(int value) { return __builtin_ffs(value); }

// Rounded to nearest, and never contracted into a fused multiply and add.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) {
  const volatile float product = a * b;
  return product;
}
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) {
  const volatile double product = a * b;
  return product;
}
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __expf(float a) { return std::exp(a); }
inline float __logf(float a) { return std::log(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float a) { return 1.0f / std::sqrt(a); }
inline double rsqrt(double a) { return 1.0 / std::sqrt(a); }
inline float __frsqrt_rn(float a) { return static_cast<float>(1.0 / std::sqrt(double{a})); }

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline long min(long a, long b) { return a < b ? a : b; }
inline long max(long a, long b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }
inline unsigned long max(unsigned long a, unsigned long b) { return a > b ? a : b; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
