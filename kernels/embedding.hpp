// Rows of a table by their numbers, and the sums of rows of equal number. float32 and float64.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

struct EmbeddingShape {
  std::int64_t count = 0;  // of indices
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t padding_index = -1;  // the row that gets no gradient; -1: none
};

/// Set in *status where an index is out of range.
inline constexpr std::int32_t kIndexOutOfRange = 8;

/// result (count, columns): rows of weight (rows, columns). An index out of range gives a row of
/// NaN and sets kIndexOutOfRange in *status (one int32 of device memory; null: not wanted).
cudaError_t embedding(Type type, const EmbeddingShape& shape, const std::int64_t* indices,
                      const void* weight, void* result, std::int32_t* status, cudaStream_t stream);

/// result (rows, columns): the sum of the rows of gradient (count, columns) that have this index (+
/// result if accumulate); an index out of range counts nowhere. `workspace`:
/// embedding_backward_workspace_bytes() of device memory, null if that is 0.
cudaError_t embedding_backward(Type type, const EmbeddingShape& shape, const std::int64_t* indices,
                               const void* gradient, bool accumulate, void* result, void* workspace,
                               cudaStream_t stream);
std::int64_t embedding_backward_workspace_bytes(const EmbeddingShape& shape);

}  // namespace lockstep::kernels
