#include "kernels/relu.hpp"

#include "kernels/map.cuh"

namespace lockstep::kernels {
namespace {

// The comparisons are written so that a NaN takes the first branch.
template <class T>
struct Relu {
  __device__ __forceinline__ T operator()(T x) const { return !(x <= 0) ? x : T{0}; }
};

template <class T>
struct ReluBackward {
  __device__ __forceinline__ T operator()(T y, T gradient) const {
    return !(y <= 0) ? gradient : T{0};
  }
};

}  // namespace

cudaError_t relu(Type type, const void* x, void* result, std::int64_t count, cudaStream_t stream) {
  return with_float_type(
      type, [&]<class T>(Tag<T>) { return map_one<T>(Relu<T>{}, x, result, count, stream); });
}

cudaError_t relu_backward(Type type, const void* y, const void* gradient, void* result,
                          std::int64_t count, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return map_two<T>(ReluBackward<T>{}, y, gradient, result, count, stream);
  });
}

}  // namespace lockstep::kernels
