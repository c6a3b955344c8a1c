#include "kernels/gradient_scalars.hpp"

#include <cmath>

#include "kernels/convert.cuh"
#include "kernels/launch.cuh"
#include "kernels/pack.cuh"

namespace lockstep::kernels {
namespace {

__global__ void clip_factor_kernel(const double* sum_of_squares, const double* factor,
                                   const double host_factor, const double max_norm, double* norm,
                                   double* new_factor) {
  const double pending = factor == nullptr ? 1.0 : *factor;
  const double scaled = pending * host_factor;
  // Subtracted from 0: the negative of 0 would give a norm of -0.
  const double length = sqrt(*sum_of_squares) * (scaled <= 0 ? 0.0 - scaled : scaled);
  const double coefficient = max_norm / (length + 1e-6);
  *norm = length;
  *new_factor = (coefficient >= 1 ? 1.0 : coefficient) * pending;  // a NaN is not >= 1 and stays
}

__device__ __forceinline__ bool is_finite(float x) {
  return (bits_of(x) & 0x7f800000U) != 0x7f800000U;
}
__device__ __forceinline__ bool is_finite(double x) {
  constexpr std::uint64_t kExponent = 0x7ff0000000000000U;
  return (__builtin_bit_cast(std::uint64_t, x) & kExponent) != kExponent;
}
__device__ __forceinline__ bool is_finite(Bfloat16 x) { return (x.bits & 0x7f80U) != 0x7f80U; }
__device__ __forceinline__ bool is_finite(Float16 x) { return (x.bits & 0x7c00U) != 0x7c00U; }

template <class T>
struct NonFinite {
  const T* x;
  std::int32_t* flag;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    const Pack<T, kWidth> in = load<kWidth>(x + i);
    bool finite = true;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) finite = finite && is_finite(in.values[j]);
    if (!finite) *flag = 1;  // threads race to write, but they all write the same
  }
};

template <class T>
__global__ void reciprocal_kernel(const T* word, const double numerator, double* result) {
  const double divisor = converted<double>(*word);
  *result = divisor == 0 ? 0.0 : numerator / divisor;
}

template <class T>
__global__ void flag_unequal_kernel(const T* word, const double expected, std::int32_t* flag,
                                    const std::int32_t bit) {
  if (converted<double>(*word) != expected) *flag |= bit;
}

}  // namespace

cudaError_t clip_factor(const double* sum_of_squares, const double* factor, double host_factor,
                        double max_norm, double* norm, double* new_factor, cudaStream_t stream) {
  return launch(clip_factor_kernel, 1, 1, stream, sum_of_squares, factor, host_factor, max_norm,
                norm, new_factor);
}

cudaError_t non_finite(Type type, const void* x, std::int64_t count, std::int32_t* flag,
                       cudaStream_t stream) {
  return with_type(type, [&]<class T>(Tag<T>) {
    if constexpr (kIsFloat<T> || kIsHalf<T>)
      return launch_for_each<kPackWidth<T>>(NonFinite<T>{static_cast<const T*>(x), flag}, count,
                                            are_aligned(16, x), stream);
    else
      return cudaErrorInvalidValue;
  });
}

cudaError_t reciprocal_of(Type word_type, const void* word, double numerator, double* result,
                          cudaStream_t stream) {
  return with_type(word_type, [&]<class T>(Tag<T>) {
    return launch(reciprocal_kernel<T>, 1, 1, stream, static_cast<const T*>(word), numerator,
                  result);
  });
}

cudaError_t flag_unequal(Type type, const void* word, double expected, std::int32_t* flag,
                         std::int32_t bit, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return launch(flag_unequal_kernel<T>, 1, 1, stream, static_cast<const T*>(word), expected, flag,
                  bit);
  });
}

}  // namespace lockstep::kernels
