#pragma once

#include "backend/cuda/launch.hpp"
#include "backend/loss.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaLoss final : public Loss, private OnDevice {
 public:
  using OnDevice::OnDevice;

  void cross_entropy(DType dtype, const CrossEntropyShape& shape, const void* logits,
                     const std::int64_t* labels, void* loss, void* softmax, void* divisor,
                     Queue queue) override;
  void cross_entropy_backward(DType dtype, const CrossEntropyShape& shape, const void* softmax,
                              const std::int64_t* labels, const void* gradient, const void* divisor,
                              void* result, Queue queue) override;
  void pair(DType dtype, const PairLoss& loss, const void* prediction, const void* target,
            void* result, Queue queue) override;
  void pair_backward(DType dtype, const PairLoss& loss, const void* prediction, const void* target,
                     const void* gradient, bool of_target, void* result, Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cuda
