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

/// The gradients of weight and bias. Each part of the rows has sums of its own; the parts depend on
/// the extents alone.
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
    if (wanted)
      sums_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, parts_) * 2 * columns));
  }

  bool wanted() const { return !sums_.empty(); }
  std::int64_t rows_per_part() const { return rows_per_part_; }
  std::int64_t parts() const { return parts_; }
  double* weight(std::int64_t part) { return sums_.data() + part * 2 * columns_; }
  double* bias(std::int64_t part) { return weight(part) + columns_; }
  /// All parts to the first.
  void add_parts() {
    for (std::int64_t part = 1; part < parts_; ++part)
      for (std::int64_t i = 0; i < 2 * columns_; ++i) weight(0)[i] += weight(part)[i];
  }

 private:
  std::int64_t columns_;
  std::int64_t rows_per_part_ = 1;
  std::int64_t parts_ = 0;
  std::vector<double> sums_;  // (parts, 2, columns)
};

template <class T>
void backward(const LayerNormShape& shape, const LayerNormGradients& arrays) {
  const NormalizationKernels<T>& kernels = *kernels_for<T>().normalization;
  const auto rows_from = [&](std::int64_t row) {
    return NormalizedRows<T>{static_cast<const T*>(arrays.x) + row * shape.columns,
                             static_cast<const T*>(arrays.gradient) + row * shape.columns,
                             static_cast<const T*>(arrays.weight), arrays.statistics + 2 * row,
                             shape.columns};
  };
  ParameterSums sums(shape, arrays.dweight != nullptr || arrays.dbias != nullptr);
  for_each_task(sums.parts(), [&](std::int64_t part) {
    const std::int64_t end = std::min(shape.rows, (part + 1) * sums.rows_per_part());
    for (std::int64_t first = part * sums.rows_per_part(); first < end;
         first += kMostNormalizedRows) {
      const std::int64_t behind = std::min(end, first + kMostNormalizedRows);
      for (std::int64_t row = first; row < behind && arrays.dx != nullptr; ++row)
        kernels.layer_norm_row_backward(rows_from(row),
                                        static_cast<T*>(arrays.dx) + row * shape.columns);
      if (sums.wanted())
        kernels.layer_norm_parameters(rows_from(first), behind - first, sums.weight(part),
                                      sums.bias(part));
    }
  });
  if (!sums.wanted()) return;
  sums.add_parts();
  if (arrays.dweight != nullptr)
    std::copy_n(sums.weight(0), shape.columns, static_cast<T*>(arrays.dweight));
  if (arrays.dbias != nullptr)
    std::copy_n(sums.bias(0), shape.columns, static_cast<T*>(arrays.dbias));
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
