#pragma once

#include "backend/cuda/launch.hpp"
#include "backend/embedding.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaEmbedding final : public Embedding, private OnDevice {
 public:
  using OnDevice::OnDevice;

  void embedding(DType dtype, const EmbeddingShape& shape, const std::int64_t* indices,
                 const void* weight, void* result, Queue queue) override;
  void embedding_backward(DType dtype, const EmbeddingShape& shape, const std::int64_t* indices,
                          const void* gradient, bool accumulate, void* result,
                          Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cuda
