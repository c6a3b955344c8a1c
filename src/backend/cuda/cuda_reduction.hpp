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
  void argmax(DType dtype, const void* x, std::int64_t rows, std::int64_t columns,
              std::int64_t* result, Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cuda
