#include "kernels/cast.hpp"

#include "kernels/convert.cuh"
#include "kernels/launch.cuh"
#include "kernels/pack.cuh"

namespace lockstep::kernels {
namespace {

template <class From, class To>
struct Cast {
  const From* x;
  To* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    const Pack<From, kWidth> in = load<kWidth>(x + i);
    Pack<To, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) convert(in.values[j], out.values[j]);
    store(result + i, out);
  }
};

template <class From, class To>
cudaError_t cast_between(const void* x, void* result, std::int64_t count, cudaStream_t stream) {
  constexpr int kWidth = kPackWidth<From> < kPackWidth<To> ? kPackWidth<From> : kPackWidth<To>;
  const Cast<From, To> body{static_cast<const From*>(x), static_cast<To*>(result)};
  return launch_for_each<kWidth>(body, count, are_aligned(16, x, result), stream);
}

}  // namespace

cudaError_t cast(Type from, const void* x, Type to, void* result, std::int64_t count,
                 cudaStream_t stream) {
  return with_type(from, [&]<class From>(Tag<From>) {
    return with_type(
        to, [&]<class To>(Tag<To>) { return cast_between<From, To>(x, result, count, stream); });
  });
}

}  // namespace lockstep::kernels
