// Backend family: fused, stable losses: softmax cross-entropy, and sums over pairs of a prediction
// and a target. float32 and float64.
#pragma once

#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"
#include "core/pair_loss.hpp"

namespace lockstep::inline v0::backend {

using portable::PairLoss;

struct CrossEntropyShape {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  std::int64_t ignore_index = -100;
  bool mean = true;            // divide by the number of rows that are not ignored
  double label_smoothing = 0;  // this part of a label is spread evenly over all classes
};

class Loss {
 public:
  virtual ~Loss() = default;
  /// Writes the loss (one element), the softmax (rows, classes) for backward, and the divisor (one
  /// element: 1 for a sum, the number of rows not ignored for a mean). A mean over none is NaN.
  /// @throws InvalidUsage for a label out of range on the CPU.
  virtual void cross_entropy(DType dtype, const CrossEntropyShape& shape, const void* logits,
                             const std::int64_t* labels, void* loss, void* softmax, void* divisor,
                             Queue queue) = 0;
  /// result = (softmax - smoothed one_hot(label)) * *gradient / *divisor; rows that are ignored get
  /// exactly 0, also when the divisor is 0.
  virtual void cross_entropy_backward(DType dtype, const CrossEntropyShape& shape,
                                      const void* softmax, const std::int64_t* labels,
                                      const void* gradient, const void* divisor, void* result,
                                      Queue queue) = 0;
  /// factor * the sum over pairs, by src/core/loss_functions.hpp, added up in float64 -> one
  /// element.
  virtual void pair(DType dtype, const PairLoss& loss, const void* prediction, const void* target,
                    void* result, Queue queue) = 0;
  /// result = derivative by the prediction, or by the target, * (*gradient * factor).
  virtual void pair_backward(DType dtype, const PairLoss& loss, const void* prediction,
                             const void* target, const void* gradient, bool of_target, void* result,
                             Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
