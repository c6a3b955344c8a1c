#include "backend/cuda/cuda_loss.hpp"

#include "backend/cuda/type_of.hpp"
#include "core/loss_functions.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/pair_loss.hpp"

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

void CudaLoss::pair(DType dtype, const PairLoss& loss, const void* prediction, const void* target,
                    void* result, Queue queue) {
  const Scratch scratch(index(), kernels::pair_loss_workspace_bytes(loss), queue);
  launch(portable::name_of(loss.kind), loss.count, queue, [&](cudaStream_t stream) {
    return kernels::pair_loss(type_of(dtype), loss, prediction, target, result, scratch.data(),
                              stream);
  });
}

void CudaLoss::pair_backward(DType dtype, const PairLoss& loss, const void* prediction,
                             const void* target, const void* gradient, bool of_target, void* result,
                             Queue queue) {
  launch(portable::name_of(loss.kind), loss.count, queue, [&](cudaStream_t stream) {
    return kernels::pair_loss_backward(type_of(dtype), loss, prediction, target, gradient,
                                       of_target, result, stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
