// Thrown within a step that is being captured, and caught by whoever captures it.
#pragma once

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::backend {

class CaptureRefused : public InvalidUsage {
 public:
  using InvalidUsage::InvalidUsage;
};

}  // namespace lockstep::inline v0::backend
