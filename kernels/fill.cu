#include "kernels/fill.hpp"

#include "kernels/convert.cuh"
#include "kernels/launch.cuh"
#include "kernels/pack.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Fill {
  T value;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) out.values[j] = value;
    store(result + i, out);
  }
};

}  // namespace

cudaError_t fill(Type type, double value, void* result, std::int64_t count, cudaStream_t stream) {
  return with_type(type, [&]<class T>(Tag<T>) {
    const Fill<T> body{converted<T>(value), static_cast<T*>(result)};
    return launch_for_each<kPackWidth<T>>(body, count, are_aligned(16, result), stream);
  });
}

}  // namespace lockstep::kernels
