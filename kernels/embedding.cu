#include "kernels/embedding.hpp"

#include "kernels/fill.hpp"
#include "kernels/row_sums.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Forward {
  EmbeddingShape shape;
  const std::int64_t* indices;
  const T* weight;
  T* result;
  std::int32_t* status;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t position, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    if (!exists) return;
    const std::int64_t index = indices[position];
    const bool there = index >= 0 && index < shape.rows;
    // Rows race to write, but they all write the same.
    if (!there && status != nullptr) *status = *status | kIndexOutOfRange;
    for (std::int64_t i = RowTeam::lane(); i < shape.columns; i += kLanes)
      result[position * shape.columns + i] =
          there ? weight[index * shape.columns + i] : static_cast<T>(__builtin_nan(""));
  }
};

/// The positions sorted by their index, those of one index in their order: each thread counts what
/// comes before its position. That is quadratic, and takes a millisecond for 64 K positions.
__global__ void order_kernel(const std::int64_t* indices, const std::int64_t count,
                             std::int64_t* order) {
  __shared__ std::int64_t tile[kThreads];
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads; first < count;
       first += step) {
    const std::int64_t position = first + threadIdx.x;
    const std::int64_t index = position < count ? indices[position] : 0;
    std::int64_t before = 0;
    for (std::int64_t begin = 0; begin < count; begin += kThreads) {
      const std::int64_t other = begin + threadIdx.x;
      __syncthreads();
      if (other < count) tile[threadIdx.x] = indices[other];
      __syncthreads();
      const std::int64_t end = count - begin < kThreads ? count - begin : kThreads;
      for (std::int64_t i = 0; i < end; ++i)
        before += tile[i] < index || (tile[i] == index && begin + i < position) ? 1 : 0;
    }
    if (position < count) order[before] = position;
  }
}

/// One column of the rows of a gradient, in sorted order.
template <class T>
struct SortedColumn {
  const T* column;
  const std::int64_t* order;
  std::int64_t columns;
  __device__ __forceinline__ double operator()(std::int64_t place) const {
    return static_cast<double>(column[order[place] * columns]);
  }
};

/// The first place of each index in sorted order adds up all of its places.
template <class T>
struct Backward {
  EmbeddingShape shape;
  const std::int64_t* indices;
  const std::int64_t* order;
  const T* gradient;
  StoreSum<T> finish;

  __device__ __forceinline__ std::int64_t index_at(std::int64_t place) const {
    return indices[order[place]];
  }

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t place, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    if (!exists) return;
    const std::int64_t index = index_at(place);
    if (index < 0 || index >= shape.rows || index == shape.padding_index) return;
    if (place > 0 && index_at(place - 1) == index) return;
    std::int64_t end = place + 1;
    while (end < shape.count && index_at(end) == index) ++end;
    for (std::int64_t i = RowTeam::lane(); i < shape.columns; i += kLanes)
      finish(index * shape.columns + i,
             strided_total<double>(SortedColumn<T>{gradient + i, order, shape.columns}, place, end,
                                   1));
  }
};

}  // namespace

cudaError_t embedding(Type type, const EmbeddingShape& shape, const std::int64_t* indices,
                      const void* weight, void* result, std::int32_t* status, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Forward<T> forward{shape, indices, static_cast<const T*>(weight), static_cast<T*>(result),
                             status};
    return launch_rows(forward, shape.count, shape.columns, stream);
  });
}

cudaError_t embedding_backward(Type type, const EmbeddingShape& shape, const std::int64_t* indices,
                               const void* gradient, bool accumulate, void* result, void* workspace,
                               cudaStream_t stream) {
  if (shape.count > 0 && workspace == nullptr) return cudaErrorInvalidValue;
  std::int64_t* order = static_cast<std::int64_t*>(workspace);
  cudaError_t error =
      accumulate ? cudaSuccess : fill(type, 0.0, result, shape.rows * shape.columns, stream);
  if (error == cudaSuccess)
    error = launch(order_kernel, ceil_divide(shape.count, kThreads), kThreads, stream, indices,
                   shape.count, order);
  if (error != cudaSuccess) return error;
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Backward<T> backward{shape, indices, order, static_cast<const T*>(gradient),
                               StoreSum<T>{1.0, accumulate, static_cast<T*>(result)}};
    return launch_rows(backward, shape.count, shape.columns, stream);
  });
}

std::int64_t embedding_backward_workspace_bytes(const EmbeddingShape& shape) {
  return shape.count * static_cast<std::int64_t>(sizeof(std::int64_t));
}

}  // namespace lockstep::kernels
