#pragma once

#include "backend/cuda/launch.hpp"
#include "backend/reduction.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaReduction final : public Reduction, private OnDevice {
 public:
  using OnDevice::OnDevice;

  void sum(DType dtype, const void* x, std::int64_t outer, std::int64_t extent, std::int64_t inner,
           double factor, bool accumulate, void* result, Queue queue) override;
  void add_sum_of_squares(DType dtype, const void* x, std::int64_t count, void* result,
                          Queue queue) override;
  void squared_difference(DType dtype, const void* a, const void* b, std::int64_t count,
                          double factor, void* result, Queue queue) override;
  void extreme(DType dtype, bool maximum, const void* x, const Extents& size, void* values,
               std::int64_t* indexes, Queue queue) override;
  void extreme_backward(DType dtype, const void* gradient, const std::int64_t* indexes,
                        const Extents& size, void* result, Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cuda
