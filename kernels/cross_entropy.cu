#include "kernels/cross_entropy.hpp"

#include "core/portable_math.hpp"
#include "kernels/row_sums.cuh"

namespace lockstep::kernels {
namespace {

struct Larger {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

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

    T top = static_cast<T>(-__builtin_inf());  // a NaN is never larger
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes) top = Larger{}(top, x[i]);
    top = RowTeam::all(top, Larger{});
    double part = 0;
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes)
      part += static_cast<double>(portable::exp(x[i] - top));
    const double sum = RowTeam::all(part, Plus{});
    const T divisor = static_cast<T>(sum);
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes)
      y[i] = portable::exp(x[i] - top) / divisor;

    if (!exists) return;
    if (ignored)
      for (std::int64_t i = RowTeam::lane(); i < shape.classes; i += kLanes) y[i] = T{0};
    if (RowTeam::lane() == 0) losses[row] = ignored ? 0.0 : loss_of(x, label, top, sum);
  }

  __device__ __forceinline__ double loss_of(const T* x, std::int64_t label, T top,
                                            double sum) const {
    if (label >= 0 && label < shape.classes)
      return portable::log(sum) - (static_cast<double>(x[label]) - static_cast<double>(top));
    // Rows race to write, but they all write the same.
    if (status != nullptr) *status = *status | kLabelOutOfRange;
    return __builtin_nan("");
  }
};

struct LossAndCount {
  double loss;
  double count;
};
__device__ __forceinline__ LossAndCount operator+(const LossAndCount& a, const LossAndCount& b) {
  return {a.loss + b.loss, a.count + b.count};
}
__device__ __forceinline__ LossAndCount shuffled(const LossAndCount& x, int offset) {
  return {kernels::shuffled(x.loss, offset), kernels::shuffled(x.count, offset)};
}

struct RowLoss {
  using Value = LossAndCount;
  const double* losses;
  const std::int64_t* labels;
  std::int64_t ignore_index;
  __device__ __forceinline__ LossAndCount operator()(std::int64_t, std::int64_t i) const {
    return {losses[i], labels[i] == ignore_index ? 0.0 : 1.0};
  }
};

template <class T>
struct StoreLoss {
  bool mean;
  T* loss;
  T* divisor;
  __device__ __forceinline__ void operator()(std::int64_t, const LossAndCount& total) const {
    const double over = mean ? total.count : 1.0;
    *divisor = static_cast<T>(over);
    *loss = static_cast<T>(over == 0 ? __builtin_nan("") : total.loss / over);
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
    const T* y = softmax + row * shape.classes;
    T* target = result + row * shape.classes;
    for (std::int64_t i = RowTeam::lane(); i < shape.classes; i += kLanes)
      target[i] = ignored ? T{0} : (i == label ? y[i] - T{1} : y[i]) * scale;
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
         row_sums_workspace_bytes<LossAndCount>(1, shape.rows);
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
