// Optimizer passes on the CPU.
#pragma once

#include "backend/optimizer.hpp"

namespace lockstep::inline v0::backend::cpu {

class CpuOptimizer final : public Optimizer {
 public:
  void adam(DType dtype, const ArenaPointers& arena, std::span<const AdamSegment> segments,
            Queue queue, const NextSegments<AdamSegment>& next) override;
  void sgd(DType dtype, const ArenaPointers& arena, std::span<const SgdSegment> segments,
           Queue queue, const NextSegments<SgdSegment>& next) override;
};

}  // namespace lockstep::inline v0::backend::cpu
