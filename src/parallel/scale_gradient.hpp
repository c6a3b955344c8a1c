// gradient *= factor, for every floating-point type.
#pragma once

#include <lockstep/core/tensor.hpp>

#include "core/tensor_impl.hpp"

namespace lockstep::inline v0::detail {

/// float16 and bfloat16 are scaled in float32 and rounded once.
inline void scale_gradient(Tensor& gradient, double factor) {
  const bool computed = gradient.dtype() == DType::float32 || gradient.dtype() == DType::float64;
  Tensor wide = computed ? gradient : gradient.detach().to(DType::float32);
  backend_of(wide).elementwise.scale(wide.dtype(), factor, wide.mutable_raw_data(),
                                     wide.element_count(), queue_of(wide));
  if (!computed) gradient.copy_from(wide.to(gradient.dtype()));
}

}  // namespace lockstep::inline v0::detail
