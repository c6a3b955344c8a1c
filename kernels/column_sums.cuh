// Sums along columns of (outer, extent, inner): for each outer and column, all
// columns.column(outer, column)(row), of double, with row in [0, extent) are added and
// finish(outer * inner + column, total) is called once. Few and long columns are cut into chunks,
// whose partial sums are added in a second pass. The order depends on the extents alone.
#pragma once

#include "kernels/row_sums.cuh"

namespace lockstep::kernels {

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

inline ColumnCut column_cut(const Extents& size) {
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

/// All columns of an array.
template <class T>
struct ElementColumns {
  const T* x;
  std::int64_t extent;
  std::int64_t inner;
  __device__ __forceinline__ ColumnElement<T> column(std::int64_t outer,
                                                     std::int64_t column) const {
    return {x + outer * extent * inner + column, inner};
  }
};

/// finish((outer * chunks + chunk) * inner + column, total).
template <class Columns, class Finish>
__global__ void column_sums_kernel(const Columns columns, const Extents size, const ColumnCut cut,
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
    sums[thread] = column < size.inner ? strided_total<double>(columns.column(outer, column),
                                                               begin + first_row, end, step)
                                       : 0.0;
    __syncthreads();
    for (int half = step / 2; half > 0; half /= 2) {
      if (first_row < half) sums[thread] += sums[thread + half * width];
      __syncthreads();
    }
    if (first_row == 0 && column < size.inner) finish(part * size.inner + column, sums[thread]);
    __syncthreads();
  }
}

template <class Columns, class Finish>
cudaError_t launch_columns(const Columns& columns, const Extents& size, const ColumnCut& cut,
                           const Finish& finish, cudaStream_t stream) {
  return launch(column_sums_kernel<Columns, Finish>, size.outer * cut.chunks * cut.tiles, kThreads,
                stream, columns, size, cut, finish);
}

template <class Columns, class Finish>
cudaError_t column_sums(const Columns& columns, const Extents& size, const Finish& finish,
                        void* workspace, cudaStream_t stream) {
  ColumnCut cut = column_cut(size);
  if (cut.chunks == 1) return launch_columns(columns, size, cut, finish, stream);
  if (workspace == nullptr) return cudaErrorInvalidValue;
  double* partials = static_cast<double*>(workspace);
  const cudaError_t error =
      launch_columns(columns, size, cut, StorePartial<double>{partials}, stream);
  if (error != cudaSuccess) return error;
  const Extents rest{size.outer, cut.chunks, size.inner};
  cut.chunk = cut.chunks;
  cut.chunks = 1;
  return launch_columns(ElementColumns<double>{partials, rest.extent, rest.inner}, rest, cut,
                        finish, stream);
}

inline std::int64_t column_sums_workspace_bytes(const Extents& size) {
  const ColumnCut cut = column_cut(size);
  return cut.chunks > 1
             ? size.outer * cut.chunks * size.inner * static_cast<std::int64_t>(sizeof(double))
             : 0;
}

}  // namespace lockstep::kernels
