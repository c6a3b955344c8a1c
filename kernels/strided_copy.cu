#include "kernels/strided_copy.hpp"

#include "kernels/launch.cuh"
#include "kernels/pack.cuh"

namespace lockstep::kernels {
namespace {

using Bytes16 = Pack<std::uint64_t, 2>;

std::int64_t element_count(const StridedCopy& copy) {
  std::int64_t count = 1;
  for (int axis = 0; axis < copy.axes; ++axis) count *= copy.sizes[axis];
  return count;
}

/// Whether elements of twice the size say the same.
bool can_double(const StridedCopy& copy, std::int64_t element_bytes, const void* source,
                const void* destination) {
  const int last = copy.axes - 1;
  if (last < 0 || copy.source_strides[last] != 1 || copy.destination_strides[last] != 1)
    return false;
  bool even = copy.sizes[last] % 2 == 0;
  for (int axis = 0; axis < last; ++axis)
    even = even && copy.source_strides[axis] % 2 == 0 && copy.destination_strides[axis] % 2 == 0;
  return even && are_aligned(static_cast<std::uintptr_t>(2 * element_bytes), source, destination);
}

void double_elements(StridedCopy& copy, std::int64_t& element_bytes) {
  const int last = copy.axes - 1;
  element_bytes *= 2;
  copy.sizes[last] /= 2;
  for (int axis = 0; axis < last; ++axis) {
    copy.source_strides[axis] /= 2;
    copy.destination_strides[axis] /= 2;
  }
}

/// Index: 32 bits where there are few enough elements, since 64-bit divisions cost several times
/// more.
template <class T, class Index>
struct CopyElement {
  StridedCopy copy;
  const T* source;
  T* destination;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    std::int64_t from = 0;
    std::int64_t to = 0;
    Index rest = static_cast<Index>(i);
    for (int axis = copy.axes - 1; axis >= 0; --axis) {
      const Index size = static_cast<Index>(copy.sizes[axis]);
      const Index above = rest / size;
      const std::int64_t position = static_cast<std::int64_t>(rest - above * size);
      from += position * copy.source_strides[axis];
      to += position * copy.destination_strides[axis];
      rest = above;
    }
    destination[to] = source[from];
  }
};

constexpr int kTile = 32;

/// Matrices of which the source is contiguous along the rows and the destination along the
/// columns. The two axes are axes of size 1 in `outer`.
struct Transposition {
  StridedCopy outer;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t source_stride;       // from column to column
  std::int64_t destination_stride;  // from row to row
  std::int64_t row_tiles;
  std::int64_t column_tiles;
  std::int64_t tiles;  // of all matrices
};

/// Whether it is one, of matrices that are large enough for tiles.
bool find_transposition(const StridedCopy& copy, Transposition& found) {
  const int last = copy.axes - 1;
  if (last < 1 || copy.source_strides[last] == 1 || copy.destination_strides[last] != 1)
    return false;
  int row_axis = -1;
  for (int axis = 0; axis < last; ++axis)
    if (copy.source_strides[axis] == 1) row_axis = axis;
  if (row_axis < 0) return false;
  found.rows = copy.sizes[row_axis];
  found.columns = copy.sizes[last];
  if (found.rows < kTile / 4 || found.columns < kTile / 4) return false;
  found.source_stride = copy.source_strides[last];
  found.destination_stride = copy.destination_strides[row_axis];
  found.row_tiles = ceil_divide(found.rows, kTile);
  found.column_tiles = ceil_divide(found.columns, kTile);
  found.outer = copy;
  found.outer.sizes[row_axis] = 1;
  found.outer.sizes[last] = 1;
  found.tiles = element_count(found.outer) * found.row_tiles * found.column_tiles;
  return true;
}

/// A tile is read along its rows and written along its columns, so both are consecutive memory.
template <class T>
__global__ void transpose_kernel(const T* source, T* destination, const Transposition with) {
  __shared__ T tile[kTile][kTile + 1];
  constexpr int kStep = kThreads / kTile;
  const int lane = static_cast<int>(threadIdx.x) % kTile;
  const int first = static_cast<int>(threadIdx.x) / kTile;
  for (std::int64_t task = blockIdx.x; task < with.tiles; task += gridDim.x) {
    std::int64_t rest = task / with.column_tiles;
    const std::int64_t column = (task - rest * with.column_tiles) * kTile;
    const std::int64_t matrix = rest / with.row_tiles;
    const std::int64_t row = (rest - matrix * with.row_tiles) * kTile;
    std::int64_t from = column * with.source_stride + row;
    std::int64_t to = row * with.destination_stride + column;
    rest = matrix;
    for (int axis = with.outer.axes - 1; axis >= 0; --axis) {
      const std::int64_t above = rest / with.outer.sizes[axis];
      const std::int64_t position = rest - above * with.outer.sizes[axis];
      from += position * with.outer.source_strides[axis];
      to += position * with.outer.destination_strides[axis];
      rest = above;
    }

    for (int i = first; i < kTile; i += kStep)
      if (row + lane < with.rows && column + i < with.columns)
        tile[lane][i] = source[from + i * with.source_stride + lane];
    __syncthreads();
    for (int i = first; i < kTile; i += kStep)
      if (row + i < with.rows && column + lane < with.columns)
        destination[to + i * with.destination_stride + lane] = tile[i][lane];
    __syncthreads();
  }
}

template <class T>
cudaError_t copy_elements(const StridedCopy& copy, const void* source, void* destination,
                          cudaStream_t stream) {
  const T* from = static_cast<const T*>(source);
  T* to = static_cast<T*>(destination);
  const std::int64_t count = element_count(copy);
  Transposition transposition{};
  if (count > 0 && find_transposition(copy, transposition))
    return launch(transpose_kernel<T>, transposition.tiles, kThreads, stream, from, to,
                  transposition);
  if (count < (std::int64_t{1} << 31))
    return launch_for_each<1>(CopyElement<T, std::uint32_t>{copy, from, to}, count, true, stream);
  return launch_for_each<1>(CopyElement<T, std::uint64_t>{copy, from, to}, count, true, stream);
}

}  // namespace

cudaError_t strided_copy(const StridedCopy& given, std::int64_t element_bytes, const void* source,
                         void* destination, cudaStream_t stream) {
  if (given.axes < 0 || given.axes > StridedCopy::kMaxAxes) return cudaErrorInvalidValue;
  StridedCopy copy = given;
  while (element_bytes < 16 && can_double(copy, element_bytes, source, destination))
    double_elements(copy, element_bytes);
  switch (element_bytes) {
    case 1:
      return copy_elements<std::uint8_t>(copy, source, destination, stream);
    case 2:
      return copy_elements<std::uint16_t>(copy, source, destination, stream);
    case 4:
      return copy_elements<std::uint32_t>(copy, source, destination, stream);
    case 8:
      return copy_elements<std::uint64_t>(copy, source, destination, stream);
    case 16:
      return copy_elements<Bytes16>(copy, source, destination, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace lockstep::kernels
