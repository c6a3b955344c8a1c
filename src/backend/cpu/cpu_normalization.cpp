#include "backend/cpu/cpu_normalization.hpp"

#include <algorithm>
#include <vector>

#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/rows.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

/// along_row(offset) for all rows, where lines lie in one piece; else along_columns(offset, width)
/// for all groups of columns side by side.
template <class Row, class Columns>
void for_each_line(const SoftmaxShape& shape, const Row& along_row, const Columns& along_columns) {
  if (shape.inner == 1)
    return for_each_row(shape.outer, shape.extent,
                        [&](std::int64_t row) { along_row(row * shape.extent); });
  constexpr std::int64_t kWidth = 16;
  const std::int64_t groups = (shape.inner + kWidth - 1) / kWidth;
  for_each_row(shape.outer * groups, shape.extent * kWidth, [&](std::int64_t group) {
    const std::int64_t column = group % groups * kWidth;
    along_columns(group / groups * shape.extent * shape.inner + column,
                  std::min(kWidth, shape.inner - column));
  });
}

/// Sums over rows, of which each part of the rows adds up its own; the parts depend on the extents
/// alone.
class ParameterSums {
 public:
  ParameterSums(const LayerNormShape& shape, bool wanted) : columns_(shape.columns) {
    constexpr std::int64_t kMostParts = 32;
    constexpr std::int64_t kMostSums = 1024 * 1024;
    const std::int64_t columns = std::max<std::int64_t>(1, columns_);
    const std::int64_t most = std::clamp<std::int64_t>(kMostSums / columns, 1, kMostParts);
    rows_per_part_ = std::max((shape.rows + most - 1) / most,
                              std::max<std::int64_t>(1, kSmallestTask / columns));
    parts_ = (shape.rows + rows_per_part_ - 1) / rows_per_part_;
    if (wanted) sums_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, parts_) * columns));
  }

  std::int64_t rows_per_part() const { return rows_per_part_; }
  std::int64_t parts() const { return parts_; }
  /// Null if the sums are not wanted.
  double* part(std::int64_t index) {
    return sums_.empty() ? nullptr : sums_.data() + index * columns_;
  }
  template <class T>
  void store(T* result) {
    double* total = part(0);
    for (std::int64_t index = 1; index < parts_; ++index)
      for (std::int64_t column = 0; column < columns_; ++column)
        total[column] += part(index)[column];
    for (std::int64_t column = 0; column < columns_; ++column)
      result[column] = static_cast<T>(total[column]);
  }

 private:
  std::int64_t columns_;
  std::int64_t rows_per_part_ = 1;
  std::int64_t parts_ = 0;
  std::vector<double> sums_;
};

template <class T>
void backward(const LayerNormShape& shape, const LayerNormGradients& arrays) {
  const NormalizationKernels<T>& kernels = *kernels_for<T>().normalization;
  auto* dx = static_cast<T*>(arrays.dx);
  ParameterSums dweight(shape, arrays.dweight != nullptr);
  ParameterSums dbias(shape, arrays.dbias != nullptr);
  for_each_task(dweight.parts(), [&](std::int64_t part) {
    const std::int64_t end = std::min(shape.rows, (part + 1) * dweight.rows_per_part());
    for (std::int64_t row = part * dweight.rows_per_part(); row < end; ++row) {
      const std::int64_t offset = row * shape.columns;
      const NormalizedRow<T> arguments{
          static_cast<const T*>(arrays.x) + offset, static_cast<const T*>(arrays.gradient) + offset,
          static_cast<const T*>(arrays.weight), arrays.statistics + 2 * row, shape.columns};
      if (dx != nullptr) kernels.layer_norm_row_backward(arguments, dx + offset);
      kernels.layer_norm_row_parameters(arguments, dweight.part(part), dbias.part(part));
    }
  });
  if (arrays.dweight != nullptr) dweight.store(static_cast<T*>(arrays.dweight));
  if (arrays.dbias != nullptr) dbias.store(static_cast<T*>(arrays.dbias));
}

}  // namespace

void CpuNormalization::softmax(DType dtype, const SoftmaxShape& shape, const void* x, void* result,
                               Queue) {
  with_float_type("softmax", dtype, [&]<class T>(Type<T>) {
    const NormalizationKernels<T>& kernels = *kernels_for<T>().normalization;
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(result);
    for_each_line(
        shape,
        [&](std::int64_t at) {
          kernels.softmax_row[shape.logarithm](from + at, shape.extent, to + at);
        },
        [&](std::int64_t at, std::int64_t width) {
          kernels.softmax_columns[shape.logarithm](from + at, shape.extent, shape.inner, width,
                                                   to + at);
        });
  });
}

void CpuNormalization::softmax_backward(DType dtype, const SoftmaxShape& shape, const void* y,
                                        const void* gradient, void* result, Queue) {
  with_float_type("softmax_backward", dtype, [&]<class T>(Type<T>) {
    const NormalizationKernels<T>& kernels = *kernels_for<T>().normalization;
    const auto* values = static_cast<const T*>(y);
    const auto* gradients = static_cast<const T*>(gradient);
    auto* to = static_cast<T*>(result);
    for_each_line(
        shape,
        [&](std::int64_t at) {
          kernels.softmax_row_backward[shape.logarithm](values + at, gradients + at, shape.extent,
                                                        to + at);
        },
        [&](std::int64_t at, std::int64_t width) {
          kernels.softmax_columns_backward[shape.logarithm](
              values + at, gradients + at, shape.extent, shape.inner, width, to + at);
        });
  });
}

void CpuNormalization::layer_norm(DType dtype, const LayerNormShape& shape, const void* x,
                                  const void* weight, const void* bias, void* result,
                                  double* statistics, Queue) {
  with_float_type("layer_norm", dtype, [&]<class T>(Type<T>) {
    const NormalizationKernels<T>& kernels = *kernels_for<T>().normalization;
    for_each_row(shape.rows, shape.columns, [&](std::int64_t row) {
      const std::int64_t offset = row * shape.columns;
      kernels.layer_norm_row(static_cast<const T*>(x) + offset, static_cast<const T*>(weight),
                             static_cast<const T*>(bias), shape.columns, shape.epsilon,
                             static_cast<T*>(result) + offset, statistics + 2 * row);
    });
  });
}

void CpuNormalization::layer_norm_backward(DType dtype, const LayerNormShape& shape,
                                           const LayerNormGradients& arrays, Queue) {
  with_float_type("layer_norm_backward", dtype,
                  [&]<class T>(Type<T>) { backward<T>(shape, arrays); });
}

}  // namespace lockstep::inline v0::backend::cpu
