#include "backend/cpu/cpu_embedding.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/rows.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

void check_indices(const EmbeddingShape& shape, const std::int64_t* indices) {
  for (std::int64_t i = 0; i < shape.count; ++i)
    if (indices[i] < 0 || indices[i] >= shape.rows)
      throw InvalidUsage("embedding: index " + std::to_string(indices[i]) + " at position " +
                         std::to_string(i) + " is outside [0, " + std::to_string(shape.rows) +
                         "): the weight has " + std::to_string(shape.rows) + " rows");
}

/// The positions of each index, in their order: a counting sort.
class Positions {
 public:
  Positions(const EmbeddingShape& shape, const std::int64_t* indices)
      : first_(static_cast<std::size_t>(shape.rows) + 1),
        positions_(static_cast<std::size_t>(shape.count)) {
    for (std::int64_t i = 0; i < shape.count; ++i)
      ++first_[static_cast<std::size_t>(indices[i]) + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::int64_t> next(first_);
    for (std::int64_t i = 0; i < shape.count; ++i)
      positions_[static_cast<std::size_t>(next[static_cast<std::size_t>(indices[i])]++)] = i;
  }

  std::span<const std::int64_t> of(std::int64_t row) const {
    const auto begin = static_cast<std::size_t>(first_[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(first_[static_cast<std::size_t>(row) + 1]);
    return std::span(positions_).subspan(begin, end - begin);
  }

 private:
  std::vector<std::int64_t> first_;
  std::vector<std::int64_t> positions_;
};

/// The sum of the rows of x at these positions.
template <class T>
void sum_of_rows(const T* x, std::int64_t columns, std::span<const std::int64_t> positions,
                 bool accumulate, T* result) {
  constexpr std::int64_t kTile = 256;
  for (std::int64_t begin = 0; begin < columns; begin += kTile) {
    const std::int64_t width = std::min(kTile, columns - begin);
    std::array<double, kTile> sums{};
    for (const std::int64_t position : positions) {
      const T* values = x + position * columns + begin;
      for (std::int64_t i = 0; i < width; ++i)
        sums[static_cast<std::size_t>(i)] += static_cast<double>(values[i]);
    }
    for (std::int64_t i = 0; i < width; ++i) {
      const T value = static_cast<T>(sums[static_cast<std::size_t>(i)]);
      T& place = result[begin + i];
      place = accumulate ? place + value : value;
    }
  }
}

}  // namespace

void CpuEmbedding::embedding(DType dtype, const EmbeddingShape& shape, const std::int64_t* indices,
                             const void* weight, void* result, Queue) {
  check_indices(shape, indices);
  with_float_type("embedding", dtype, [&]<class T>(Type<T>) {
    const auto* from = static_cast<const T*>(weight);
    auto* to = static_cast<T*>(result);
    for_each_row(shape.count, shape.columns, [&](std::int64_t i) {
      std::copy_n(from + indices[i] * shape.columns, shape.columns, to + i * shape.columns);
    });
  });
}

void CpuEmbedding::embedding_backward(DType dtype, const EmbeddingShape& shape,
                                      const std::int64_t* indices, const void* gradient,
                                      bool accumulate, void* result, Queue) {
  const Positions positions(shape, indices);
  with_float_type("embedding_backward", dtype, [&]<class T>(Type<T>) {
    const auto* from = static_cast<const T*>(gradient);
    auto* to = static_cast<T*>(result);
    for_each_row(shape.rows, shape.columns, [&](std::int64_t row) {
      std::span<const std::int64_t> rows = positions.of(row);
      if (row == shape.padding_index) rows = {};
      if (accumulate && rows.empty()) return;
      sum_of_rows(from, shape.columns, rows, accumulate, to + row * shape.columns);
    });
  });
}

}  // namespace lockstep::inline v0::backend::cpu
