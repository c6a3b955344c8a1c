#include "kernels/softmax.hpp"

#include "kernels/softmax.cuh"

namespace lockstep::kernels {
namespace {

/// Where the elements of a line lie.
__device__ __forceinline__ std::int64_t first_of(const SoftmaxShape& shape, std::int64_t line) {
  const std::int64_t outer = line / shape.inner;
  return outer * shape.extent * shape.inner + (line - outer * shape.inner);
}

/// The exponentials are computed twice, which costs less than to write and read them.
template <class T>
struct Forward {
  SoftmaxShape shape;
  const T* x;
  T* result;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t line, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    const std::int64_t first = first_of(shape, line);
    const std::int64_t end = exists ? shape.extent : 0;
    const auto [top, sum] = row_exponentials<RowTeam>(x + first, shape.inner, end);
    const T last = static_cast<T>(shape.logarithm ? portable::log(sum) : 1.0 / sum);
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) {
      const T apart = x[first + i * shape.inner] - top;
      result[first + i * shape.inner] =
          shape.logarithm ? apart - last : portable::exp_below_one(apart) * last;
    }
  }
};

template <class T>
struct Backward {
  SoftmaxShape shape;
  const T* y;
  const T* gradient;
  T* result;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t line, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    const std::int64_t first = first_of(shape, line);
    const std::int64_t end = exists ? shape.extent : 0;
    double part = 0;
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) {
      const T value = gradient[first + i * shape.inner];
      part += static_cast<double>(shape.logarithm ? value : y[first + i * shape.inner] * value);
    }
    const T sum = static_cast<T>(RowTeam::all(part, Plus{}));
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) {
      const std::int64_t place = first + i * shape.inner;
      result[place] = shape.logarithm ? gradient[place] - portable::exp_below_one(y[place]) * sum
                                      : (gradient[place] - sum) * y[place];
    }
  }
};

}  // namespace

cudaError_t softmax(Type type, const SoftmaxShape& shape, const void* x, void* result,
                    cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Forward<T> forward{shape, static_cast<const T*>(x), static_cast<T*>(result)};
    return launch_rows(forward, shape.outer * shape.inner, shape.extent, stream);
  });
}

cudaError_t softmax_backward(Type type, const SoftmaxShape& shape, const void* y,
                             const void* gradient, void* result, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Backward<T> backward{shape, static_cast<const T*>(y), static_cast<const T*>(gradient),
                               static_cast<T*>(result)};
    return launch_rows(backward, shape.outer * shape.inner, shape.extent, stream);
  });
}

}  // namespace lockstep::kernels
