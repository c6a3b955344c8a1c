#include "backend/cuda/cuda_loss.hpp"

#include "backend/cuda/type_of.hpp"
#include "kernels/cross_entropy.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

kernels::CrossEntropyShape kernel_shape(const CrossEntropyShape& shape) {
  return {shape.rows, shape.classes, shape.ignore_index, shape.mean, shape.label_smoothing};
}

}  // namespace

void CudaLoss::cross_entropy(DType dtype, const CrossEntropyShape& shape, const void* logits,
                             const std::int64_t* labels, void* loss, void* softmax, void* divisor,
                             Queue queue) {
  const Scratch scratch(index(), kernels::cross_entropy_workspace_bytes(kernel_shape(shape)),
                        queue);
  std::int32_t* status = device_state(index()).status();
  launch("cross_entropy", shape.rows * shape.classes, queue, [&](cudaStream_t stream) {
    return kernels::cross_entropy(type_of(dtype), kernel_shape(shape), logits, labels, loss,
                                  softmax, divisor, status, scratch.data(), stream);
  });
}

void CudaLoss::cross_entropy_backward(DType dtype, const CrossEntropyShape& shape,
                                      const void* softmax, const std::int64_t* labels,
                                      const void* gradient, const void* divisor, void* result,
                                      Queue queue) {
  launch("cross_entropy_backward", shape.rows * shape.classes, queue, [&](cudaStream_t stream) {
    return kernels::cross_entropy_backward(type_of(dtype), kernel_shape(shape), softmax, labels,
                                           gradient, divisor, result, stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
