#include "backend/cpu/cpu_reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cpu/chunks.hpp"
#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

constexpr std::int64_t kSmallestChunk = 64 * 1024;

struct Extents {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t inner;
};

template <class T>
void store(double sum, double factor, bool accumulate, T& result) {
  const T value = static_cast<T>(sum * factor);
  result = accumulate ? result + value : value;
}

template <class T>
double sum_of_range(const T* x, std::int64_t count) {
  return sum_in_chunks(count, kSmallestChunk, [&](std::int64_t begin, std::int64_t end) {
    return kernels_for<T>().reduction->sum(x + begin, end - begin);
  });
}

template <class T>
void sum_of_rows(const T* x, const Extents& size, double factor, bool accumulate, T* result) {
  if (size.outer == 1) return store(sum_of_range(x, size.extent), factor, accumulate, *result);
  const std::int64_t rows_per_task =
      std::max<std::int64_t>(1, kSmallestChunk / std::max<std::int64_t>(1, size.extent));
  for_each_task((size.outer + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(size.outer, (task + 1) * rows_per_task);
    for (std::int64_t row = task * rows_per_task; row < end; ++row)
      store(sum_of_range(x + row * size.extent, size.extent), factor, accumulate, result[row]);
  });
}

template <class T>
void sum_of_columns(const T* x, const Extents& size, double factor, bool accumulate, T* result) {
  constexpr std::int64_t kTile = 256;
  const std::int64_t tiles = (size.inner + kTile - 1) / kTile;
  const auto tile_sum = [&](std::int64_t task) {
    const std::int64_t outer = task / tiles;
    const std::int64_t begin = task % tiles * kTile;
    const std::int64_t end = std::min(size.inner, begin + kTile);
    std::array<double, kTile> sums;
    kernels_for<T>().reduction->column_sums(x + outer * size.extent * size.inner, size.extent,
                                            size.inner, begin, end, sums.data());
    for (std::int64_t column = begin; column < end; ++column)
      store(sums[static_cast<std::size_t>(column - begin)], factor, accumulate,
            result[outer * size.inner + column]);
  };
  if (size.outer * size.extent * size.inner >= kParallelElements)
    return for_each_task(size.outer * tiles, tile_sum);
  for (std::int64_t task = 0; task < size.outer * tiles; ++task) tile_sum(task);
}

template <class T>
std::int64_t index_of_largest(const T* x, std::int64_t count) {
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isnan(x[i])) return i;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

}  // namespace

void CpuReduction::sum(DType dtype, const void* x, std::int64_t outer, std::int64_t extent,
                       std::int64_t inner, double factor, bool accumulate, void* result, Queue) {
  if (outer == 0 || inner == 0) return;
  with_float_type("sum", dtype, [&]<class T>(Type<T>) {
    const auto* values = static_cast<const T*>(x);
    auto* sums = static_cast<T*>(result);
    if (inner == 1)
      sum_of_rows(values, {outer, extent, inner}, factor, accumulate, sums);
    else
      sum_of_columns(values, {outer, extent, inner}, factor, accumulate, sums);
  });
}

void CpuReduction::add_sum_of_squares(DType dtype, const void* x, std::int64_t count, void* result,
                                      Queue) {
  with_float_type("sum of squares", dtype, [&]<class T>(Type<T>) {
    const auto* values = static_cast<const T*>(x);
    *static_cast<double*>(result) +=
        sum_in_chunks(count, kSmallestChunk, [&](std::int64_t begin, std::int64_t end) {
          return kernels_for<T>().reduction->sum_of_squares(values + begin, end - begin);
        });
  });
}

void CpuReduction::squared_difference(DType dtype, const void* a, const void* b, std::int64_t count,
                                      double factor, void* result, Queue) {
  with_float_type("squared difference", dtype, [&]<class T>(Type<T>) {
    const auto* left = static_cast<const T*>(a);
    const auto* right = static_cast<const T*>(b);
    const double sum =
        sum_in_chunks(count, kSmallestChunk, [&](std::int64_t begin, std::int64_t end) {
          return kernels_for<T>().reduction->squared_difference(left + begin, right + begin,
                                                                end - begin);
        });
    *static_cast<T*>(result) = static_cast<T>(sum * factor);
  });
}

void CpuReduction::argmax(DType dtype, const void* x, std::int64_t rows, std::int64_t columns,
                          std::int64_t* result, Queue) {
  if (columns <= 0) throw InvalidUsage("[cpu] argmax of rows without elements");
  with_float_type("argmax", dtype, [&]<class T>(Type<T>) {
    const auto* values = static_cast<const T*>(x);
    for (std::int64_t row = 0; row < rows; ++row)
      result[row] = index_of_largest(values + row * columns, columns);
  });
}

}  // namespace lockstep::inline v0::backend::cpu
