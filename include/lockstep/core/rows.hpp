// Operations on rows: softmax, layer normalization, embedding. float32 and float64; sums and
// statistics in float64, in a fixed order. All throw ShapeError and InvalidUsage; nothing here
// synchronizes.
#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

/// exp(x) over the sum of exp(x) along the axis (negative: from the end), for any finite x. As in
/// PyTorch, where all elements along the axis are -infinity, or one is NaN, all become NaN.
/// @throws ShapeError for an axis that x does not have.
LOCKSTEP_API Tensor softmax(const Tensor& x, int axis = -1);
/// Its logarithm, also where softmax is too small to be represented.
LOCKSTEP_API Tensor log_softmax(const Tensor& x, int axis = -1);

/// (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axes, which have the shape
/// `normalized`, as have weight and bias; either may be undefined. The variance is that of all
/// elements, not of a sample (Ba et al., "Layer normalization", 2016).
/// @throws ShapeError unless `normalized` is the end of x's shape.
LOCKSTEP_API Tensor layer_norm(const Tensor& x, const Shape& normalized, const Tensor& weight = {},
                               const Tensor& bias = {}, double epsilon = 1e-5);

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_index = {};  // this row gets no gradient
};
/// Rows of weight (rows, columns): indices of any shape, int64 or int32 -> (..., columns). Only
/// weight has a gradient, the same bits each time.
/// @throws InvalidUsage for an index outside [0, rows); on CUDA the next value that is read does.
LOCKSTEP_API Tensor embedding(const Tensor& indices, const Tensor& weight,
                              EmbeddingOptions options = {});

}  // namespace lockstep::inline v0
