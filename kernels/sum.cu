#include "kernels/sum.hpp"

#include "kernels/row_sums.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Element {
  using Value = double;
  const T* x;
  std::int64_t extent;
  __device__ __forceinline__ double operator()(std::int64_t row, std::int64_t i) const {
    return static_cast<double>(x[row * extent + i]);
  }
};

template <class T>
struct StoreSum {
  double factor;
  bool accumulate;
  T* result;
  __device__ __forceinline__ void operator()(std::int64_t i, double total) const {
    const T value = static_cast<T>(total * factor);
    result[i] = accumulate ? result[i] + value : value;
  }
};

struct Extents {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t inner;
};

/// Columns of a matrix: a block adds up a tile of `width` columns, its threads side by side along a
/// row, over one chunk of the rows.
struct ColumnCut {
  std::int64_t width;  // a power of two up to 32
  std::int64_t tiles;
  std::int64_t chunk;
  std::int64_t chunks;
};

ColumnCut column_cut(const Extents& size) {
  constexpr std::int64_t kWantedBlocks = 1024;
  ColumnCut cut{2, 0, size.extent, 1};
  while (cut.width < 32 && cut.width < size.inner) cut.width *= 2;
  cut.tiles = ceil_divide(size.inner, cut.width);
  const std::int64_t blocks = size.outer * cut.tiles;
  const std::int64_t smallest = kThreads / cut.width * kPartsPerThread;
  if (blocks <= 0 || blocks >= kWantedBlocks || size.extent <= smallest) return cut;
  cut.chunk = ceil_divide(size.extent, kWantedBlocks / blocks);
  if (cut.chunk < smallest) cut.chunk = smallest;
  cut.chunks = ceil_divide(size.extent, cut.chunk);
  return cut;
}

/// The elements of one column.
template <class T>
struct ColumnElement {
  const T* column;
  std::int64_t inner;
  __device__ __forceinline__ double operator()(std::int64_t row) const {
    return static_cast<double>(column[row * inner]);
  }
};

/// finish((outer * chunks + chunk) * inner + column, total).
template <class T, class Finish>
__global__ void column_sums_kernel(const T* x, const Extents size, const ColumnCut cut,
                                   const Finish finish) {
  __shared__ double sums[kThreads];
  const int width = static_cast<int>(cut.width);
  const int thread = static_cast<int>(threadIdx.x);
  const int first_row = thread / width;
  const int step = kThreads / width;
  const std::int64_t tasks = size.outer * cut.chunks * cut.tiles;
  for (std::int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    const std::int64_t part = task / cut.tiles;
    const std::int64_t column = (task - part * cut.tiles) * width + thread % width;
    const std::int64_t outer = part / cut.chunks;
    const std::int64_t begin = (part - outer * cut.chunks) * cut.chunk;
    const std::int64_t end = begin + cut.chunk < size.extent ? begin + cut.chunk : size.extent;
    const ColumnElement<T> element{x + outer * size.extent * size.inner + column, size.inner};
    sums[thread] =
        column < size.inner ? strided_total<double>(element, begin + first_row, end, step) : 0.0;
    __syncthreads();
    for (int half = step / 2; half > 0; half /= 2) {
      if (first_row < half) sums[thread] += sums[thread + half * width];
      __syncthreads();
    }
    if (first_row == 0 && column < size.inner) finish(part * size.inner + column, sums[thread]);
    __syncthreads();
  }
}

template <class T, class Finish>
cudaError_t launch_columns(const T* x, const Extents& size, const ColumnCut& cut,
                           const Finish& finish, cudaStream_t stream) {
  return launch(column_sums_kernel<T, Finish>, size.outer * cut.chunks * cut.tiles, kThreads,
                stream, x, size, cut, finish);
}

template <class T>
cudaError_t column_sums(const T* x, const Extents& size, const StoreSum<T>& finish, void* workspace,
                        cudaStream_t stream) {
  ColumnCut cut = column_cut(size);
  if (cut.chunks == 1) return launch_columns(x, size, cut, finish, stream);
  if (workspace == nullptr) return cudaErrorInvalidValue;
  double* partials = static_cast<double*>(workspace);
  const cudaError_t error = launch_columns(x, size, cut, StorePartial<double>{partials}, stream);
  if (error != cudaSuccess) return error;
  const Extents rest{size.outer, cut.chunks, size.inner};
  cut.chunk = cut.chunks;
  cut.chunks = 1;
  return launch_columns(static_cast<const double*>(partials), rest, cut, finish, stream);
}

}  // namespace

cudaError_t sum(Type type, const void* x, std::int64_t outer, std::int64_t extent,
                std::int64_t inner, double factor, bool accumulate, void* result, void* workspace,
                cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const T* values = static_cast<const T*>(x);
    const StoreSum<T> finish{factor, accumulate, static_cast<T*>(result)};
    if (inner == 1)
      return row_sums(Element<T>{values, extent}, finish, outer, extent, workspace, stream);
    return column_sums(values, {outer, extent, inner}, finish, workspace, stream);
  });
}

std::int64_t sum_workspace_bytes(std::int64_t outer, std::int64_t extent, std::int64_t inner) {
  if (inner == 1) return row_sums_workspace_bytes<double>(outer, extent);
  const ColumnCut cut = column_cut({outer, extent, inner});
  return cut.chunks > 1 ? outer * cut.chunks * inner * static_cast<std::int64_t>(sizeof(double))
                        : 0;
}

}  // namespace lockstep::kernels
