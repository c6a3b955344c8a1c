// Fused, stable softmax cross-entropy. float32 and float64; sums in float64.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

struct CrossEntropyShape {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  std::int64_t ignore_index = -100;
  bool mean = true;            // divide by the number of rows that are not ignored
  double label_smoothing = 0;  // this part of a label is spread evenly over all classes
};

/// Set in *status where a label is out of range.
inline constexpr std::int32_t kLabelOutOfRange = 1;

/// Writes the loss (one element), the softmax (rows, classes) for backward, and the divisor (one
/// element: 1 for a sum, the number of rows not ignored for a mean). A mean over none is NaN.
/// A label out of range makes the loss NaN and sets kLabelOutOfRange in *status (one int32 of
/// device memory, which is otherwise left as it is; null: not wanted). The workspace has
/// cross_entropy_workspace_bytes(shape) bytes of device memory.
cudaError_t cross_entropy(Type type, const CrossEntropyShape& shape, const void* logits,
                          const std::int64_t* labels, void* loss, void* softmax, void* divisor,
                          std::int32_t* status, void* workspace, cudaStream_t stream);
std::int64_t cross_entropy_workspace_bytes(const CrossEntropyShape& shape);

/// result = (softmax - smoothed one_hot(label)) * *gradient / *divisor; rows that are ignored get
/// exactly 0, also when the divisor is 0. A label out of range has a one_hot of zeros.
cudaError_t cross_entropy_backward(Type type, const CrossEntropyShape& shape, const void* softmax,
                                   const std::int64_t* labels, const void* gradient,
                                   const void* divisor, void* result, cudaStream_t stream);

}  // namespace lockstep::kernels
