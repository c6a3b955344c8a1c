#pragma once

#include "backend/cuda/launch.hpp"
#include "backend/normalization.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaNormalization final : public Normalization, private OnDevice {
 public:
  using OnDevice::OnDevice;

  void softmax(DType dtype, const SoftmaxShape& shape, const void* x, void* result,
               Queue queue) override;
  void softmax_backward(DType dtype, const SoftmaxShape& shape, const void* y, const void* gradient,
                        void* result, Queue queue) override;
  void layer_norm(DType dtype, const LayerNormShape& shape, const void* x, const void* weight,
                  const void* bias, void* result, double* statistics, Queue queue) override;
  void layer_norm_backward(DType dtype, const LayerNormShape& shape,
                           const LayerNormGradients& arrays, Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cuda
