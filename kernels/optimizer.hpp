// What the optimizer passes share. Arena memory of one type: all pointers share one index. An
// arena is covered by segments, runs of elements [begin, end) with the same coefficients; elements
// outside of any stay untouched.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// `gradients` is only read.
struct ArenaPointers {
  void* values = nullptr;
  const void* gradients = nullptr;
  void* first_moment = nullptr;   // Adam: m; SGD: momentum buffer, null without momentum
  void* second_moment = nullptr;  // Adam: v; SGD: null
};

/// What one launch reads of the step.
struct StepScalars {
  double gradient_scale = 1;             // multiplied into each gradient as it is read
  const double* device_scale = nullptr;  // device memory; multiplied to gradient_scale in float64
  const std::int32_t* skip = nullptr;    // device memory; where non-zero the launch changes nothing
};

}  // namespace lockstep::kernels
