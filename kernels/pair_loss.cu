#include "kernels/pair_loss.hpp"

#include "core/loss_functions.hpp"
#include "kernels/map.cuh"
#include "kernels/row_sums.cuh"

namespace lockstep::kernels {
namespace {

using portable::PairLoss;

template <class Function, class T>
struct Values {
  using Value = double;
  const T* prediction;
  const T* target;
  double number;
  __device__ __forceinline__ double operator()(std::int64_t, std::int64_t i) const {
    return Function::value(static_cast<double>(prediction[i]), static_cast<double>(target[i]),
                           number);
  }
};

template <class Function, bool kOfTarget, class T>
struct Slope {
  T number;
  T factor;
  const T* gradient;
  __device__ __forceinline__ T operator()(T prediction, T target) const {
    const T scale = *gradient * factor;
    if constexpr (kOfTarget)
      return Function::target_slope(prediction, target, number) * scale;
    else
      return Function::slope(prediction, target, number) * scale;
  }
};

/// body(Function{}, Tag<T>{}) for the function of the loss and the type T.
template <class Body>
cudaError_t with_function(const PairLoss& loss, Type type, const Body& body) {
  return with_float_type(type, [&](auto tag) {
    cudaError_t status = cudaErrorInvalidValue;
    portable::for_each_pair_loss([&](auto function) {
      if (function.kKind == loss.kind) status = body(function, tag);
    });
    return status;
  });
}

}  // namespace

cudaError_t pair_loss(Type type, const PairLoss& loss, const void* prediction, const void* target,
                      void* result, void* workspace, cudaStream_t stream) {
  return with_function(loss, type, [&]<class Function, class T>(Function, Tag<T>) {
    const Values<Function, T> values{static_cast<const T*>(prediction),
                                     static_cast<const T*>(target), loss.number};
    return row_sums(values, StoreScaled<T>{loss.factor, static_cast<T*>(result)}, 1, loss.count,
                    workspace, stream);
  });
}

std::int64_t pair_loss_workspace_bytes(const PairLoss& loss) {
  return row_sums_workspace_bytes<double>(1, loss.count);
}

cudaError_t pair_loss_backward(Type type, const PairLoss& loss, const void* prediction,
                               const void* target, const void* gradient, bool of_target,
                               void* result, cudaStream_t stream) {
  return with_function(loss, type, [&]<class Function, class T>(Function, Tag<T>) {
    const T number = static_cast<T>(loss.number);
    const T factor = static_cast<T>(loss.factor);
    const T* scale = static_cast<const T*>(gradient);
    if (of_target)
      return map_two<T>(Slope<Function, true, T>{number, factor, scale}, prediction, target, result,
                        loss.count, stream);
    return map_two<T>(Slope<Function, false, T>{number, factor, scale}, prediction, target, result,
                      loss.count, stream);
  });
}

}  // namespace lockstep::kernels
