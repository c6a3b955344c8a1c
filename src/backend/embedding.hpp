// Backend family: rows of a table by their numbers. float32 and float64.
#pragma once

#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

struct EmbeddingShape {
  std::int64_t count = 0;  // of indices
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t padding_index = -1;  // the row that gets no gradient; -1: none
};

class Embedding {
 public:
  virtual ~Embedding() = default;
  /// result (count, columns): rows of weight (rows, columns).
  /// @throws InvalidUsage for an index out of range on the CPU.
  virtual void embedding(DType dtype, const EmbeddingShape& shape, const std::int64_t* indices,
                         const void* weight, void* result, Queue queue) = 0;
  /// result (rows, columns): the sum of the rows of gradient (count, columns) that have this index
  /// (+ result if accumulate), added up in float64 in an order that depends on the indices alone,
  /// and rounded once.
  virtual void embedding_backward(DType dtype, const EmbeddingShape& shape,
                                  const std::int64_t* indices, const void* gradient,
                                  bool accumulate, void* result, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
