#include "kernels/cross_entropy.hpp"

#include "kernels/softmax.cuh"

namespace lockstep::kernels {
namespace {

/// Softmax and loss of one row. The exponentials are computed twice, which costs less than to write
/// and read them.
template <class T>
struct Forward {
  CrossEntropyShape shape;
  const T* logits;
  const std::int64_t* labels;
  T* softmax;
  double* losses;
  std::int32_t* status;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t row, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    const std::int64_t label = exists ? labels[row] : shape.ignore_index;
    const bool ignored = label == shape.ignore_index;
    const T* x = logits + row * shape.classes;
    T* y = softmax + row * shape.classes;
    const std::int64_t end = ignored ? 0 : shape.classes;

    const RowExponentials<T> exponentials = row_exponentials<RowTeam>(x, 1, end);
    const T top = exponentials.top;
    const T factor = static_cast<T>(1.0 / exponentials.sum);
    double all = 0;
    if (shape.label_smoothing > 0) {
      for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) all += static_cast<double>(x[i]);
      all = RowTeam::all(all, Plus{});
    }
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes)
      y[i] = portable::exp_below_one(x[i] - top) * factor;

    if (!exists) return;
    if (ignored)
      for (std::int64_t i = RowTeam::lane(); i < shape.classes; i += kLanes) y[i] = T{0};
    if (RowTeam::lane() == 0) losses[row] = ignored ? 0.0 : loss_of(x, label, exponentials, all);
  }

  /// `all`: the sum of the logits, if labels are smoothed.
  __device__ __forceinline__ double loss_of(const T* x, std::int64_t label,
                                            const RowExponentials<T>& exponentials,
                                            double all) const {
    if (label >= 0 && label < shape.classes) {
      const double top = static_cast<double>(exponentials.top);
      const double hot = static_cast<double>(x[label]) - top;
      if (!(shape.label_smoothing > 0)) return portable::log(exponentials.sum) - hot;
      const double mean = all / static_cast<double>(shape.classes) - top;
      return portable::log(exponentials.sum) -
             ((1.0 - shape.label_smoothing) * hot + shape.label_smoothing * mean);
    }
    // Rows race to write, but they all write the same.
    if (status != nullptr) *status = *status | kLabelOutOfRange;
    return __builtin_nan("");
  }
};

/// The loss of a row, and 1 where it counts.
struct RowLoss {
  using Value = TwoSums;
  const double* losses;
  const std::int64_t* labels;
  std::int64_t ignore_index;
  __device__ __forceinline__ TwoSums operator()(std::int64_t, std::int64_t i) const {
    return {losses[i], labels[i] == ignore_index ? 0.0 : 1.0};
  }
};

template <class T>
struct StoreLoss {
  bool mean;
  T* loss;
  T* divisor;
  __device__ __forceinline__ void operator()(std::int64_t, const TwoSums& total) const {
    const double over = mean ? total.second : 1.0;
    *divisor = static_cast<T>(over);
    *loss = static_cast<T>(over == 0 ? __builtin_nan("") : total.first / over);
  }
};

template <class T>
struct Backward {
  CrossEntropyShape shape;
  const T* softmax;
  const std::int64_t* labels;
  const T* gradient;
  const T* divisor;
  T* result;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t row, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    if (!exists) return;
    const std::int64_t label = labels[row];
    const bool ignored = label == shape.ignore_index;
    const T scale = *gradient / *divisor;
    const double even = shape.label_smoothing / static_cast<double>(shape.classes);
    const T rest = static_cast<T>(even);
    const T hot = static_cast<T>((1.0 - shape.label_smoothing) + even);
    const T* y = softmax + row * shape.classes;
    T* target = result + row * shape.classes;
    for (std::int64_t i = RowTeam::lane(); i < shape.classes; i += kLanes)
      target[i] = ignored ? T{0} : (y[i] - (i == label ? hot : rest)) * scale;
  }
};

}  // namespace

cudaError_t cross_entropy(Type type, const CrossEntropyShape& shape, const void* logits,
                          const std::int64_t* labels, void* loss, void* softmax, void* divisor,
                          std::int32_t* status, void* workspace, cudaStream_t stream) {
  if (shape.rows > 0 && workspace == nullptr) return cudaErrorInvalidValue;
  return with_float_type(type, [&]<class T>(Tag<T>) {
    double* losses = static_cast<double*>(workspace);
    const Forward<T> forward{
        shape, static_cast<const T*>(logits), labels, static_cast<T*>(softmax), losses, status};
    const cudaError_t error = launch_rows(forward, shape.rows, shape.classes, stream);
    if (error != cudaSuccess) return error;
    return row_sums(RowLoss{losses, labels, shape.ignore_index},
                    StoreLoss<T>{shape.mean, static_cast<T*>(loss), static_cast<T*>(divisor)}, 1,
                    shape.rows, losses == nullptr ? nullptr : losses + shape.rows, stream);
  });
}

std::int64_t cross_entropy_workspace_bytes(const CrossEntropyShape& shape) {
  return shape.rows * static_cast<std::int64_t>(sizeof(double)) +
         row_sums_workspace_bytes<TwoSums>(1, shape.rows);
}

cudaError_t cross_entropy_backward(Type type, const CrossEntropyShape& shape, const void* softmax,
                                   const std::int64_t* labels, const void* gradient,
                                   const void* divisor, void* result, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Backward<T> backward{shape,
                               static_cast<const T*>(softmax),
                               labels,
                               static_cast<const T*>(gradient),
                               static_cast<const T*>(divisor),
                               static_cast<T*>(result)};
    return launch_rows(backward, shape.rows, shape.classes, stream);
  });
}

}  // namespace lockstep::kernels
