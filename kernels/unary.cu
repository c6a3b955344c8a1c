#include "kernels/unary.hpp"

#include "core/unary_functions.hpp"
#include "kernels/map.cuh"

namespace lockstep::kernels {
namespace {

using portable::UnaryNumbers;
using portable::UnaryOperation;

template <class Function, class T>
struct Forward {
  UnaryNumbers<T> numbers;
  __device__ __forceinline__ T operator()(T x) const { return Function::forward(x, numbers); }
};

template <class Function, class T>
struct Backward {
  UnaryNumbers<T> numbers;
  __device__ __forceinline__ T operator()(T saved, T gradient) const {
    return Function::backward(saved, gradient, numbers);
  }
};

/// body(Function{}, numbers in T) for the function of the operation and the type T.
template <class Body>
cudaError_t with_function(UnaryOperation operation, Type type, const UnaryNumbers<double>& numbers,
                          const Body& body) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const UnaryNumbers<T> rounded{static_cast<T>(numbers.first), static_cast<T>(numbers.second)};
    cudaError_t status = cudaErrorInvalidValue;
    portable::for_each_unary([&](auto function) {
      if (function.kOperation == operation) status = body(function, rounded);
    });
    return status;
  });
}

}  // namespace

cudaError_t unary(UnaryOperation operation, Type type, const void* x,
                  const UnaryNumbers<double>& numbers, void* result, std::int64_t count,
                  cudaStream_t stream) {
  return with_function(operation, type, numbers,
                       [&]<class Function, class T>(Function, UnaryNumbers<T> rounded) {
                         return map_one<T>(Forward<Function, T>{rounded}, x, result, count, stream);
                       });
}

cudaError_t unary_backward(UnaryOperation operation, Type type, const void* saved,
                           const void* gradient, const UnaryNumbers<double>& numbers, void* result,
                           std::int64_t count, cudaStream_t stream) {
  return with_function(
      operation, type, numbers, [&]<class Function, class T>(Function, UnaryNumbers<T> rounded) {
        return map_two<T>(Backward<Function, T>{rounded}, saved, gradient, result, count, stream);
      });
}

}  // namespace lockstep::kernels
