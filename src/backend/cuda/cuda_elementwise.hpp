#pragma once

#include "backend/cuda/launch.hpp"
#include "backend/elementwise.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaElementwise final : public Elementwise, private OnDevice {
 public:
  using OnDevice::OnDevice;

  void binary(BinaryOperation operation, DType dtype, const Broadcast& broadcast, const void* a,
              const void* b, void* result, Queue queue) override;
  void affine(DType dtype, const void* x, double alpha, double beta, void* result,
              std::int64_t count, Queue queue) override;
  void add_scaled(DType dtype, double alpha, const void* x, void* y, std::int64_t count,
                  Queue queue) override;
  void scale(DType dtype, double alpha, void* y, std::int64_t count, Queue queue) override;
  void fill(DType dtype, double value, void* result, std::int64_t count, Queue queue) override;
  void unary(UnaryOperation operation, DType dtype, const void* x,
             const UnaryNumbers<double>& numbers, void* result, std::int64_t count,
             Queue queue) override;
  void unary_backward(UnaryOperation operation, DType dtype, const void* saved,
                      const void* gradient, const UnaryNumbers<double>& numbers, void* result,
                      std::int64_t count, Queue queue) override;
  void scaled_difference(DType dtype, const void* a, const void* b, double factor, void* result,
                         std::int64_t count, Queue queue) override;
  void cast(DType from, const void* x, DType to, void* result, std::int64_t count,
            Queue queue) override;
  void fold_sum(DType dtype, const void* const* sources, int source_count, void* result,
                std::int64_t count, Queue queue) override;
  void fold_extreme(DType dtype, bool maximum, const void* const* sources, int source_count,
                    void* result, std::int64_t count, Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cuda
