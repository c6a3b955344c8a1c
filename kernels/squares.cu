#include "kernels/squares.hpp"

#include "kernels/row_sums.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Square {
  using Value = double;
  const T* x;
  __device__ __forceinline__ double operator()(std::int64_t, std::int64_t i) const {
    const double value = static_cast<double>(x[i]);
    return value * value;
  }
};

template <class T>
struct SquaredDifference {
  using Value = double;
  const T* a;
  const T* b;
  __device__ __forceinline__ double operator()(std::int64_t, std::int64_t i) const {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return difference * difference;
  }
};

struct AddTo {
  double* result;
  __device__ __forceinline__ void operator()(std::int64_t, double total) const { *result += total; }
};

}  // namespace

cudaError_t add_sum_of_squares(Type type, const void* x, std::int64_t count, void* result,
                               void* workspace, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return row_sums(Square<T>{static_cast<const T*>(x)}, AddTo{static_cast<double*>(result)}, 1,
                    count, workspace, stream);
  });
}

std::int64_t add_sum_of_squares_workspace_bytes(std::int64_t count) {
  return row_sums_workspace_bytes<double>(1, count);
}

cudaError_t squared_difference(Type type, const void* a, const void* b, std::int64_t count,
                               double factor, void* result, void* workspace, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return row_sums(SquaredDifference<T>{static_cast<const T*>(a), static_cast<const T*>(b)},
                    StoreScaled<T>{factor, static_cast<T*>(result)}, 1, count, workspace, stream);
  });
}

std::int64_t squared_difference_workspace_bytes(std::int64_t count) {
  return row_sums_workspace_bytes<double>(1, count);
}

}  // namespace lockstep::kernels
