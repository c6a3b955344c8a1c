#include "backend/cpu/cpu_reduction.hpp"

#include <algorithm>
#include <array>

#include "backend/cpu/chunks.hpp"
#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

constexpr std::int64_t kSmallestChunk = 64 * 1024;

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

template <class Body>
void for_each_row(const Extents& size, const Body& body) {
  const std::int64_t rows_per_task =
      std::max<std::int64_t>(1, kSmallestChunk / std::max<std::int64_t>(1, size.extent));
  for_each_task((size.outer + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(size.outer, (task + 1) * rows_per_task);
    for (std::int64_t row = task * rows_per_task; row < end; ++row) body(row);
  });
}

template <class T>
void sum_of_rows(const T* x, const Extents& size, double factor, bool accumulate, T* result) {
  if (size.outer == 1) return store(sum_of_range(x, size.extent), factor, accumulate, *result);
  for_each_row(size, [&](std::int64_t row) {
    store(sum_of_range(x + row * size.extent, size.extent), factor, accumulate, result[row]);
  });
}

constexpr std::int64_t kTile = 256;

/// tile(outer, begin, end) for columns [begin, end) of each of the matrices (extent, inner).
template <class Tile>
void for_each_tile(const Extents& size, const Tile& tile) {
  const std::int64_t tiles = (size.inner + kTile - 1) / kTile;
  const auto run = [&](std::int64_t task) {
    const std::int64_t begin = task % tiles * kTile;
    tile(task / tiles, begin, std::min(size.inner, begin + kTile));
  };
  if (size.outer * size.extent * size.inner >= kParallelElements)
    return for_each_task(size.outer * tiles, run);
  for (std::int64_t task = 0; task < size.outer * tiles; ++task) run(task);
}

template <class T>
void sum_of_columns(const T* x, const Extents& size, double factor, bool accumulate, T* result) {
  for_each_tile(size, [&](std::int64_t outer, std::int64_t begin, std::int64_t end) {
    std::array<double, kTile> sums;
    kernels_for<T>().reduction->column_sums(x + outer * size.extent * size.inner, size.extent,
                                            size.inner, begin, end, sums.data());
    for (std::int64_t column = begin; column < end; ++column)
      store(sums[static_cast<std::size_t>(column - begin)], factor, accumulate,
            result[outer * size.inner + column]);
  });
}

/// Whether a value takes the place of the best before it: a NaN always does, unless there was one.
template <bool kMaximum, class T>
bool beats(T value, T best) {
  const bool no_better = kMaximum ? value <= best : value >= best;
  return !no_better && !(best != best);
}

template <class T>
struct Extremes {
  T* values;  // either may be null
  std::int64_t* indexes;

  void set(std::int64_t place, T value, std::int64_t index) const {
    if (values != nullptr) values[place] = value;
    if (indexes != nullptr) indexes[place] = index;
  }
};

template <bool kMaximum, class T>
void extremes_of_rows(const T* x, const Extents& size, const Extremes<T>& result) {
  for_each_row(size, [&](std::int64_t row) {
    const T* values = x + row * size.extent;
    T best = values[0];
    std::int64_t index = 0;
    for (std::int64_t i = 1; i < size.extent; ++i)
      if (beats<kMaximum>(values[i], best)) {
        best = values[i];
        index = i;
      }
    result.set(row, best, index);
  });
}

template <bool kMaximum, class T>
void extremes_of_columns(const T* x, const Extents& size, const Extremes<T>& result) {
  for_each_tile(size, [&](std::int64_t outer, std::int64_t begin, std::int64_t end) {
    const auto width = static_cast<std::size_t>(end - begin);
    std::array<T, kTile> best;
    std::array<std::int64_t, kTile> indexes{};
    const T* values = x + outer * size.extent * size.inner + begin;
    std::copy(values, values + width, best.begin());
    for (std::int64_t i = 1; i < size.extent; ++i) {
      values += size.inner;
      for (std::size_t column = 0; column < width; ++column) {
        const bool better = beats<kMaximum>(values[column], best[column]);
        best[column] = better ? values[column] : best[column];
        indexes[column] = better ? i : indexes[column];
      }
    }
    for (std::size_t column = 0; column < width; ++column)
      result.set(outer * size.inner + begin + static_cast<std::int64_t>(column), best[column],
                 indexes[column]);
  });
}

template <bool kMaximum, class T>
void extremes(const T* x, const Extents& size, const Extremes<T>& result) {
  if (size.inner == 1)
    extremes_of_rows<kMaximum>(x, size, result);
  else
    extremes_of_columns<kMaximum>(x, size, result);
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

void CpuReduction::extreme(DType dtype, bool maximum, const void* x, const Extents& size,
                           void* values, std::int64_t* indexes, Queue) {
  if (size.extent <= 0) throw InvalidUsage("[cpu] an extreme over no elements");
  with_ordered_type("extreme", dtype, [&]<class T>(Type<T>) {
    const Extremes<T> result{static_cast<T*>(values), indexes};
    if (maximum)
      extremes<true>(static_cast<const T*>(x), size, result);
    else
      extremes<false>(static_cast<const T*>(x), size, result);
  });
}

void CpuReduction::extreme_backward(DType dtype, const void* gradient, const std::int64_t* indexes,
                                    const Extents& size, void* result, Queue) {
  const std::int64_t inner = size.inner;
  const std::int64_t count = size.extent * inner;
  with_float_type("extreme_backward", dtype, [&]<class T>(Type<T>) {
    for_each_row({size.outer, count}, [&](std::int64_t row) {
      const T* from = static_cast<const T*>(gradient) + row * inner;
      const std::int64_t* places = indexes + row * inner;
      T* to = static_cast<T*>(result) + row * count;
      std::fill(to, to + count, T{0});
      for (std::int64_t i = 0; i < inner; ++i) to[places[i] * inner + i] = from[i];
    });
  });
}

}  // namespace lockstep::inline v0::backend::cpu
