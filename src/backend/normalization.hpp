// Backend family: softmax along an axis, and layer normalization of rows. float32 and float64.
#pragma once

#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

/// Arrays are (outer, extent, inner), row-major.
struct SoftmaxShape {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
  bool logarithm = false;  // of the softmax
};

struct LayerNormShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double epsilon = 1e-5;  // added to the variance
};

struct LayerNormGradients {
  const void* gradient = nullptr;
  const void* x = nullptr;
  const void* weight = nullptr;  // (columns); null: ones
  const double* statistics = nullptr;
  void* dx = nullptr;       // null: not wanted
  void* dweight = nullptr;  // (columns); null: not wanted
  void* dbias = nullptr;    // (columns); null: not wanted
};

class Normalization {
 public:
  virtual ~Normalization() = default;
  /// Along extent, or its logarithm. Sums in float64. A line that holds a NaN or +infinity, or
  /// nothing but -infinity, becomes NaN. result is not x.
  virtual void softmax(DType dtype, const SoftmaxShape& shape, const void* x, void* result,
                       Queue queue) = 0;
  /// From the result y of softmax.
  virtual void softmax_backward(DType dtype, const SoftmaxShape& shape, const void* y,
                                const void* gradient, void* result, Queue queue) = 0;
  /// result = (x - mean) / sqrt(variance + epsilon) * weight + bias, the statistics being those of
  /// the row, in float64; weight and bias (columns) may be null. `statistics` (rows, 2) receives
  /// the mean and the factor 1 / sqrt(variance + epsilon) for backward.
  virtual void layer_norm(DType dtype, const LayerNormShape& shape, const void* x,
                          const void* weight, const void* bias, void* result, double* statistics,
                          Queue queue) = 0;
  /// Sums, also those over rows, are added up in float64 in an order that depends on the extents
  /// alone.
  virtual void layer_norm_backward(DType dtype, const LayerNormShape& shape,
                                   const LayerNormGradients& arrays, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
