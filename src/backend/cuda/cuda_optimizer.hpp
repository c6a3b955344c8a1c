#pragma once

#include "backend/cuda/launch.hpp"
#include "backend/optimizer.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaOptimizer final : public Optimizer, private OnDevice {
 public:
  using OnDevice::OnDevice;

  void adam(DType dtype, const ArenaPointers& arena, std::span<const AdamSegment> segments,
            Queue queue, const NextSegments<AdamSegment>& next) override;
  void sgd(DType dtype, const ArenaPointers& arena, std::span<const SgdSegment> segments,
           Queue queue, const NextSegments<SgdSegment>& next) override;
};

}  // namespace lockstep::inline v0::backend::cuda
