#include "kernels/layer_norm.hpp"

#include "kernels/column_sums.cuh"

namespace lockstep::kernels {
namespace {

/// (x - mean) / deviation. The mean is in two parts: a large one would cancel if it were rounded.
template <class T>
struct Normalized {
  T mean;
  T rest;
  T factor;

  __device__ __forceinline__ Normalized(double exact_mean, double exact_factor)
      : mean(static_cast<T>(exact_mean)),
        rest(static_cast<T>(exact_mean - static_cast<double>(mean))),
        factor(static_cast<T>(exact_factor)) {}
  __device__ __forceinline__ T operator()(T x) const { return ((x - mean) - rest) * factor; }
};

template <class T>
struct Forward {
  LayerNormShape shape;
  const T* x;
  const T* weight;
  const T* bias;
  T* result;
  double* statistics;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t row, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    const T* values = x + row * shape.columns;
    const std::int64_t end = exists ? shape.columns : 0;
    const double over = static_cast<double>(shape.columns);
    double part = 0;
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes)
      part += static_cast<double>(values[i]);
    const double mean = RowTeam::all(part, Plus{}) / over;
    part = 0;
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) {
      const double apart = static_cast<double>(values[i]) - mean;
      part += apart * apart;
    }
    const double variance = RowTeam::all(part, Plus{}) / over;
    const double factor = 1.0 / sqrt(variance + shape.epsilon);
    const Normalized<T> normalized(mean, factor);
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) {
      T y = normalized(values[i]);
      if (weight != nullptr) y = y * weight[i];
      if (bias != nullptr) y = y + bias[i];
      result[row * shape.columns + i] = y;
    }
    if (!exists || RowTeam::lane() != 0) return;
    statistics[2 * row] = mean;
    statistics[2 * row + 1] = factor;
  }
};

/// With h the normalized element and u = gradient * weight: (u - mean of u - h * mean of u h) /
/// deviation.
template <class T>
struct Backward {
  LayerNormShape shape;
  const T* gradient;
  const T* x;
  const T* weight;
  const double* statistics;
  T* result;

  __device__ __forceinline__ T scaled(std::int64_t first, std::int64_t i) const {
    return weight == nullptr ? gradient[first + i] : gradient[first + i] * weight[i];
  }

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t row, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    const std::int64_t first = row * shape.columns;
    const std::int64_t end = exists ? shape.columns : 0;
    const Normalized<T> normalized(exists ? statistics[2 * row] : 0,
                                   exists ? statistics[2 * row + 1] : 0);
    TwoSums part{};
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) {
      const T u = scaled(first, i);
      const T product = u * normalized(x[first + i]);
      part = part + TwoSums{static_cast<double>(u), static_cast<double>(product)};
    }
    const TwoSums sums = RowTeam::all(part, Plus{});
    const T mean_u = static_cast<T>(sums.first / static_cast<double>(shape.columns));
    const T mean_uh = static_cast<T>(sums.second / static_cast<double>(shape.columns));
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) {
      const T h = normalized(x[first + i]);
      result[first + i] = ((scaled(first, i) - mean_u) - h * mean_uh) * normalized.factor;
    }
  }
};

/// The terms of the weight's gradient in one column.
template <class T>
struct WeightColumn {
  const T* gradient;
  const T* x;
  const double* statistics;
  std::int64_t columns;
  __device__ __forceinline__ double operator()(std::int64_t row) const {
    const Normalized<T> normalized(statistics[2 * row], statistics[2 * row + 1]);
    return static_cast<double>(gradient[row * columns] * normalized(x[row * columns]));
  }
};

template <class T>
struct WeightColumns {
  const T* gradient;
  const T* x;
  const double* statistics;
  std::int64_t columns;
  __device__ __forceinline__ WeightColumn<T> column(std::int64_t, std::int64_t column) const {
    return {gradient + column, x + column, statistics, columns};
  }
};

template <class T>
cudaError_t backward(const LayerNormShape& shape, const LayerNormGradients& arrays, void* workspace,
                     cudaStream_t stream) {
  const T* gradient = static_cast<const T*>(arrays.gradient);
  const T* x = static_cast<const T*>(arrays.x);
  const Extents size{1, shape.rows, shape.columns};
  cudaError_t error = cudaSuccess;
  if (arrays.dx != nullptr)
    error = launch_rows(Backward<T>{shape, gradient, x, static_cast<const T*>(arrays.weight),
                                    arrays.statistics, static_cast<T*>(arrays.dx)},
                        shape.rows, shape.columns, stream);
  if (error == cudaSuccess && arrays.dweight != nullptr)
    error =
        column_sums(WeightColumns<T>{gradient, x, arrays.statistics, shape.columns}, size,
                    StoreSum<T>{1.0, false, static_cast<T*>(arrays.dweight)}, workspace, stream);
  if (error == cudaSuccess && arrays.dbias != nullptr)
    error = column_sums(ElementColumns<T>{gradient, shape.rows, shape.columns}, size,
                        StoreSum<T>{1.0, false, static_cast<T*>(arrays.dbias)}, workspace, stream);
  return error;
}

}  // namespace

cudaError_t layer_norm(Type type, const LayerNormShape& shape, const void* x, const void* weight,
                       const void* bias, void* result, double* statistics, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Forward<T> forward{shape,
                             static_cast<const T*>(x),
                             static_cast<const T*>(weight),
                             static_cast<const T*>(bias),
                             static_cast<T*>(result),
                             statistics};
    return launch_rows(forward, shape.rows, shape.columns, stream);
  });
}

cudaError_t layer_norm_backward(Type type, const LayerNormShape& shape,
                                const LayerNormGradients& arrays, void* workspace,
                                cudaStream_t stream) {
  return with_float_type(
      type, [&]<class T>(Tag<T>) { return backward<T>(shape, arrays, workspace, stream); });
}

std::int64_t layer_norm_backward_workspace_bytes(const LayerNormShape& shape) {
  return column_sums_workspace_bytes({1, shape.rows, shape.columns});
}

}  // namespace lockstep::kernels
