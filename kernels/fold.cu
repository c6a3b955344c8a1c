#include "kernels/fold.hpp"

#include "kernels/convert.cuh"
#include "kernels/launch.cuh"
#include "kernels/pack.cuh"

namespace lockstep::kernels {
namespace {

/// What sums are added up in: 16-bit types in float32, integers as unsigned ones, which wrap.
template <class T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<Bfloat16> {
  using Type = float;
};
template <>
struct SumOf<Float16> {
  using Type = float;
};
template <>
struct SumOf<std::int64_t> {
  using Type = std::uint64_t;
};
template <>
struct SumOf<std::int32_t> {
  using Type = std::uint32_t;
};

template <class To, class T>
__device__ __forceinline__ To read(T x) {
  if constexpr (kIsHalf<T>)
    return widen(x);
  else
    return static_cast<To>(x);
}

template <class T, class Sum>
__device__ __forceinline__ void write(Sum x, T& result) {
  if constexpr (kIsHalf<T>)
    narrow(x, result);
  else
    result = static_cast<T>(x);
}

template <class T>
struct Plus {
  using Accumulator = typename SumOf<T>::Type;
  static __device__ __forceinline__ Accumulator apply(Accumulator a, Accumulator b) {
    return static_cast<Accumulator>(a + b);
  }
};
template <class T>
struct Smaller {
  using Accumulator = T;
  static __device__ __forceinline__ T apply(T a, T b) { return a != a ? a : (!(b >= a) ? b : a); }
};
template <class T>
struct Larger {
  using Accumulator = T;
  static __device__ __forceinline__ T apply(T a, T b) { return a != a ? a : (!(b <= a) ? b : a); }
};

template <class T, class Operation, int kSources>
struct Fold {
  const T* sources[kSources];
  int source_count;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    using Accumulator = typename Operation::Accumulator;
    Accumulator folded[kWidth];
    const Pack<T, kWidth> first = load<kWidth>(sources[0] + i);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) folded[j] = read<Accumulator>(first.values[j]);
#pragma unroll 4
    for (int source = 1; source < source_count; ++source) {
      const Pack<T, kWidth> next = load<kWidth>(sources[source] + i);
#pragma unroll
      for (int j = 0; j < kWidth; ++j)
        folded[j] = Operation::apply(folded[j], read<Accumulator>(next.values[j]));
    }
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) write(folded[j], out.values[j]);
    store(result + i, out);
  }
};

template <class T, class Operation, int kSources>
cudaError_t fold_up_to(const void* const* sources, int source_count, void* result,
                       std::int64_t count, cudaStream_t stream) {
  Fold<T, Operation, kSources> body{};
  body.source_count = source_count;
  body.result = static_cast<T*>(result);
  bool aligned = are_aligned(16, result);
  for (int source = 0; source < source_count; ++source) {
    aligned = aligned && are_aligned(16, sources[source]);
    body.sources[source] = static_cast<const T*>(sources[source]);
  }
  return launch_for_each<kPackWidth<T>>(body, count, aligned, stream);
}

/// A launch with few sources has short parameters.
template <class T, class Operation>
cudaError_t fold(const void* const* sources, int source_count, void* result, std::int64_t count,
                 cudaStream_t stream) {
  constexpr int kFew = 64;
  if (source_count < 1 || source_count > kMostSources) return cudaErrorInvalidValue;
  if (source_count <= kFew)
    return fold_up_to<T, Operation, kFew>(sources, source_count, result, count, stream);
  return fold_up_to<T, Operation, kMostSources>(sources, source_count, result, count, stream);
}

}  // namespace

cudaError_t fold_sum(Type type, const void* const* sources, int source_count, void* result,
                     std::int64_t count, cudaStream_t stream) {
  return with_type(type, [&]<class T>(Tag<T>) {
    return fold<T, Plus<T>>(sources, source_count, result, count, stream);
  });
}

cudaError_t fold_extreme(Type type, bool maximum, const void* const* sources, int source_count,
                         void* result, std::int64_t count, cudaStream_t stream) {
  return with_ordered_type(type, [&]<class T>(Tag<T>) {
    return maximum ? fold<T, Larger<T>>(sources, source_count, result, count, stream)
                   : fold<T, Smaller<T>>(sources, source_count, result, count, stream);
  });
}

}  // namespace lockstep::kernels
