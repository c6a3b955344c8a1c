#pragma once

#include "backend/scalars.hpp"

namespace lockstep::inline v0::backend::cpu {

class CpuScalars final : public Scalars {
 public:
  void quotient(DType dtype, const void* word, double numerator, double* result,
                Queue queue) override;
  void clip(const ClipInput& input, double* norm, double* clipped, Queue queue) override;
  void scale(DType dtype, const double* factor, void* y, std::int64_t count, Queue queue) override;
  void report_unequal(DType dtype, const void* word, double expected, Problem problem,
                      Queue queue) override;
  void flag_non_finite(DType dtype, const void* x, std::int64_t count, std::int32_t* flag,
                       Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cpu
