#include "backend/cuda/cuda_normalization.hpp"

#include "backend/cuda/type_of.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/softmax.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

kernels::SoftmaxShape kernel_shape(const SoftmaxShape& shape) {
  return {shape.outer, shape.extent, shape.inner, shape.logarithm};
}

std::int64_t count_of(const SoftmaxShape& shape) {
  return shape.outer * shape.extent * shape.inner;
}

kernels::LayerNormShape kernel_shape(const LayerNormShape& shape) {
  return {shape.rows, shape.columns, shape.epsilon};
}

}  // namespace

void CudaNormalization::softmax(DType dtype, const SoftmaxShape& shape, const void* x, void* result,
                                Queue queue) {
  launch("softmax", count_of(shape), queue, [&](cudaStream_t stream) {
    return kernels::softmax(type_of(dtype), kernel_shape(shape), x, result, stream);
  });
}

void CudaNormalization::softmax_backward(DType dtype, const SoftmaxShape& shape, const void* y,
                                         const void* gradient, void* result, Queue queue) {
  launch("softmax_backward", count_of(shape), queue, [&](cudaStream_t stream) {
    return kernels::softmax_backward(type_of(dtype), kernel_shape(shape), y, gradient, result,
                                     stream);
  });
}

void CudaNormalization::layer_norm(DType dtype, const LayerNormShape& shape, const void* x,
                                   const void* weight, const void* bias, void* result,
                                   double* statistics, Queue queue) {
  launch("layer_norm", shape.rows * shape.columns, queue, [&](cudaStream_t stream) {
    return kernels::layer_norm(type_of(dtype), kernel_shape(shape), x, weight, bias, result,
                               statistics, stream);
  });
}

void CudaNormalization::layer_norm_backward(DType dtype, const LayerNormShape& shape,
                                            const LayerNormGradients& arrays, Queue queue) {
  const Scratch scratch(index(), kernels::layer_norm_backward_workspace_bytes(kernel_shape(shape)),
                        queue);
  const kernels::LayerNormGradients of_kernel{arrays.gradient,   arrays.x,  arrays.weight,
                                              arrays.statistics, arrays.dx, arrays.dweight,
                                              arrays.dbias};
  launch("layer_norm_backward", shape.rows * shape.columns, queue, [&](cudaStream_t stream) {
    return kernels::layer_norm_backward(type_of(dtype), kernel_shape(shape), of_kernel,
                                        scratch.data(), stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
