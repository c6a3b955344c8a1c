// CpuMemory::copy_strided: the arrays are cut into matrices of their last axis and one more, and
// these into tiles, which the threads share.
#include <algorithm>
#include <cstring>
#include <string>

#include <lockstep/core/error.hpp>
#include "backend/cpu/cpu_memory.hpp"
#include "backend/cpu/thread_pool.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

struct Axis {
  std::int64_t size = 1;
  std::int64_t source = 0;  // strides
  std::int64_t destination = 0;
};

struct Matrix {
  Axis rows;
  Axis columns;

  /// The source is contiguous along the rows, the destination along the columns.
  bool transposed() const {
    return rows.source == 1 && columns.source != 1 && columns.destination == 1;
  }
};

/// The arrays as matrices. Columns are the last axis; rows are the axis along which the source is
/// contiguous if the columns are not it, else the axis before.
struct Walk {
  Matrix matrix;
  std::array<Axis, StridedCopy::kMaxAxes> outer;
  int outer_axes = 0;
  std::int64_t matrices = 1;
};

Walk walk_of(const StridedCopy& axes) {
  Walk walk;
  if (axes.axes == 0) return walk;
  const auto axis = [&](int index) {
    const auto i = static_cast<std::size_t>(index);
    return Axis{axes.sizes[i], axes.source_strides[i], axes.destination_strides[i]};
  };
  const int last = axes.axes - 1;
  walk.matrix.columns = axis(last);
  int rows = last - 1;
  if (walk.matrix.columns.source != 1)
    for (int i = 0; i < last; ++i)
      if (axis(i).source == 1) rows = i;
  if (rows >= 0) walk.matrix.rows = axis(rows);
  for (int i = 0; i < last; ++i) {
    if (i == rows) continue;
    walk.outer[static_cast<std::size_t>(walk.outer_axes++)] = axis(i);
    walk.matrices *= axis(i).size;
  }
  return walk;
}

/// Elements of a block in each direction.
template <class T>
constexpr std::int64_t kBlock = sizeof(T) == 8 ? 8 : 16;

/// A block is read along its rows and written along its columns, up to a line of the cache at a
/// time, by way of a buffer: with strides that are powers of two its lines would push each other
/// out.
template <class T>
[[gnu::always_inline]] inline void copy_block(const Matrix& matrix, std::int64_t rows,
                                              std::int64_t columns, const T* source,
                                              T* destination) {
  T block[kBlock<T>][kBlock<T>];
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row)
      block[row][column] = source[column * matrix.columns.source + row];
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      destination[row * matrix.rows.destination + column] = block[row][column];
}

template <class T>
void copy_transposed(const Matrix& matrix, const T* source, T* destination) {
  for (std::int64_t row = 0; row < matrix.rows.size; row += kBlock<T>)
    for (std::int64_t column = 0; column < matrix.columns.size; column += kBlock<T>) {
      const std::int64_t rows = std::min(kBlock<T>, matrix.rows.size - row);
      const std::int64_t columns = std::min(kBlock<T>, matrix.columns.size - column);
      const T* from = source + column * matrix.columns.source + row;
      T* to = destination + row * matrix.rows.destination + column;
      if (rows == kBlock<T> && columns == kBlock<T>)
        copy_block(matrix, kBlock<T>, kBlock<T>, from, to);
      else
        copy_block(matrix, rows, columns, from, to);
    }
}

template <class T>
void copy_rows(const Matrix& matrix, const T* source, T* destination) {
  const auto [count, source_stride, destination_stride] = matrix.columns;
  for (std::int64_t row = 0; row < matrix.rows.size; ++row) {
    const T* from = source + row * matrix.rows.source;
    T* to = destination + row * matrix.rows.destination;
    if (source_stride == 1 && destination_stride == 1)
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    else if (source_stride == 0 && destination_stride == 1)
      std::fill(to, to + count, *from);
    else
      for (std::int64_t i = 0; i < count; ++i) to[i * destination_stride] = from[i * source_stride];
  }
}

/// How a matrix is cut.
struct Tiles {
  std::int64_t rows;  // of a tile
  std::int64_t columns;
  std::int64_t across;  // tiles beside each other
  std::int64_t count;   // of a matrix
};

constexpr std::int64_t kTaskElements = kParallelElements / 4;

Tiles tiles_of(const Matrix& matrix) {
  Tiles tiles{};
  tiles.columns = std::min(matrix.columns.size, matrix.transposed() ? 256 : kTaskElements);
  tiles.rows = std::min(matrix.rows.size, kTaskElements / tiles.columns);
  tiles.across = (matrix.columns.size + tiles.columns - 1) / tiles.columns;
  tiles.count = tiles.across * ((matrix.rows.size + tiles.rows - 1) / tiles.rows);
  return tiles;
}

template <class T>
void copy_tile(const Walk& walk, const Tiles& tiles, std::int64_t task, const T* source,
               T* destination) {
  std::int64_t rest = task / tiles.count;
  for (int i = walk.outer_axes - 1; i >= 0; --i) {
    const Axis& axis = walk.outer[static_cast<std::size_t>(i)];
    source += rest % axis.size * axis.source;
    destination += rest % axis.size * axis.destination;
    rest /= axis.size;
  }
  const std::int64_t tile = task % tiles.count;
  const std::int64_t row = tile / tiles.across * tiles.rows;
  const std::int64_t column = tile % tiles.across * tiles.columns;
  Matrix part = walk.matrix;
  source += row * part.rows.source + column * part.columns.source;
  destination += row * part.rows.destination + column * part.columns.destination;
  part.rows.size = std::min(tiles.rows, part.rows.size - row);
  part.columns.size = std::min(tiles.columns, part.columns.size - column);
  if (part.transposed())
    copy_transposed(part, source, destination);
  else
    copy_rows(part, source, destination);
}

template <class T>
void copy_elements(const StridedCopy& axes, const void* source, void* destination) {
  const Walk walk = walk_of(axes);
  if (walk.matrices * walk.matrix.rows.size * walk.matrix.columns.size == 0) return;
  const Tiles tiles = tiles_of(walk.matrix);
  const std::int64_t tasks = walk.matrices * tiles.count;
  const std::int64_t at_once =
      std::max<std::int64_t>(1, kTaskElements / (tiles.rows * tiles.columns));
  for_each_task((tasks + at_once - 1) / at_once, [&](std::int64_t group) {
    const std::int64_t end = std::min(tasks, (group + 1) * at_once);
    for (std::int64_t task = group * at_once; task < end; ++task)
      copy_tile(walk, tiles, task, static_cast<const T*>(source), static_cast<T*>(destination));
  });
}

}  // namespace

void CpuMemory::copy_strided(void* destination, const void* source, std::int64_t element_bytes,
                             const StridedCopy& axes, Queue) {
  switch (element_bytes) {
    case 1:
      return copy_elements<std::uint8_t>(axes, source, destination);
    case 2:
      return copy_elements<std::uint16_t>(axes, source, destination);
    case 4:
      return copy_elements<std::uint32_t>(axes, source, destination);
    case 8:
      return copy_elements<std::uint64_t>(axes, source, destination);
    default:
      throw InvalidUsage("[cpu] a strided copy of elements of " + std::to_string(element_bytes) +
                         " bytes");
  }
}

}  // namespace lockstep::inline v0::backend::cpu
