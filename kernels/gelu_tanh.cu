#include "kernels/gelu_tanh.hpp"

#include "core/portable_math.hpp"
#include "kernels/map.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct GeluTanh {
  __device__ __forceinline__ T operator()(T x) const { return portable::gelu_tanh(x); }
};

template <class T>
struct GeluTanhBackward {
  __device__ __forceinline__ T operator()(T x, T gradient) const {
    return portable::gelu_tanh_slope(x) * gradient;
  }
};

}  // namespace

cudaError_t gelu_tanh(Type type, const void* x, void* result, std::int64_t count,
                      cudaStream_t stream) {
  return with_float_type(
      type, [&]<class T>(Tag<T>) { return map_one<T>(GeluTanh<T>{}, x, result, count, stream); });
}

cudaError_t gelu_tanh_backward(Type type, const void* x, const void* gradient, void* result,
                               std::int64_t count, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return map_two<T>(GeluTanhBackward<T>{}, x, gradient, result, count, stream);
  });
}

}  // namespace lockstep::kernels
