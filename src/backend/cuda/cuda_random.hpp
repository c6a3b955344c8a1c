#pragma once

#include "backend/cuda/launch.hpp"
#include "backend/random.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaRandom final : public Random, private OnDevice {
 public:
  using OnDevice::OnDevice;

  void uniform(DType dtype, const RandomPosition& position, double low, double high, void* result,
               std::int64_t count, Queue queue) override;
  void normal(DType dtype, const RandomPosition& position, void* result, std::int64_t count,
              Queue queue) override;
  void bernoulli(DType dtype, const RandomPosition& position, double probability, void* result,
                 std::int64_t count, Queue queue) override;
  void dropout(DType dtype, const RandomPosition& position, double probability, const void* x,
               void* result, std::int64_t count, Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cuda
