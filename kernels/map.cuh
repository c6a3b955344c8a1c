// result[i] = function(a[i]) or function(a[i], b[i]): elementwise with one element type.
#pragma once

#include "kernels/launch.cuh"
#include "kernels/pack.cuh"

namespace lockstep::kernels {

template <class T, class Function>
struct MapOne {
  Function function;
  const T* a;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    const Pack<T, kWidth> in = load<kWidth>(a + i);
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) out.values[j] = function(in.values[j]);
    store(result + i, out);
  }
};

template <class T, class Function>
struct MapTwo {
  Function function;
  const T* a;
  const T* b;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    const Pack<T, kWidth> left = load<kWidth>(a + i);
    const Pack<T, kWidth> right = load<kWidth>(b + i);
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) out.values[j] = function(left.values[j], right.values[j]);
    store(result + i, out);
  }
};

template <class T, class Function>
cudaError_t map_one(const Function& function, const void* a, void* result, std::int64_t count,
                    cudaStream_t stream) {
  const MapOne<T, Function> body{function, static_cast<const T*>(a), static_cast<T*>(result)};
  return launch_for_each<kPackWidth<T>>(body, count, are_aligned(16, a, result), stream);
}

template <class T, class Function>
cudaError_t map_two(const Function& function, const void* a, const void* b, void* result,
                    std::int64_t count, cudaStream_t stream) {
  const MapTwo<T, Function> body{function, static_cast<const T*>(a), static_cast<const T*>(b),
                                 static_cast<T*>(result)};
  return launch_for_each<kPackWidth<T>>(body, count, are_aligned(16, a, b, result), stream);
}

}  // namespace lockstep::kernels
