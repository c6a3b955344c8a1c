// Embedding on the CPU.
#pragma once

#include "backend/embedding.hpp"

namespace lockstep::inline v0::backend::cpu {

class CpuEmbedding final : public Embedding {
 public:
  void embedding(DType dtype, const EmbeddingShape& shape, const std::int64_t* indices,
                 const void* weight, void* result, Queue queue) override;
  void embedding_backward(DType dtype, const EmbeddingShape& shape, const std::int64_t* indices,
                          const void* gradient, bool accumulate, void* result,
                          Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cpu
