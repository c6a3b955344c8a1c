#include "backend/cuda/cuda_embedding.hpp"

#include "backend/cuda/type_of.hpp"
#include "backend/scalars.hpp"
#include "kernels/embedding.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

static_assert(static_cast<std::int32_t>(Problem::index_out_of_range) == kernels::kIndexOutOfRange);

kernels::EmbeddingShape kernel_shape(const EmbeddingShape& shape) {
  return {shape.count, shape.rows, shape.columns, shape.padding_index};
}

}  // namespace

void CudaEmbedding::embedding(DType dtype, const EmbeddingShape& shape, const std::int64_t* indices,
                              const void* weight, void* result, Queue queue) {
  std::int32_t* status = device_state(index()).status();
  launch("embedding", shape.count * shape.columns, queue, [&](cudaStream_t stream) {
    return kernels::embedding(type_of(dtype), kernel_shape(shape), indices, weight, result, status,
                              stream);
  });
}

void CudaEmbedding::embedding_backward(DType dtype, const EmbeddingShape& shape,
                                       const std::int64_t* indices, const void* gradient,
                                       bool accumulate, void* result, Queue queue) {
  const Scratch scratch(index(), kernels::embedding_backward_workspace_bytes(kernel_shape(shape)),
                        queue);
  launch("embedding_backward", shape.count * shape.columns, queue, [&](cudaStream_t stream) {
    return kernels::embedding_backward(type_of(dtype), kernel_shape(shape), indices, gradient,
                                       accumulate, result, scratch.data(), stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
