// Switches the tape off for this thread while the object lives.
#pragma once

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0 {

class LOCKSTEP_API NoGrad {
 public:
  NoGrad() noexcept;
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Whether operations of this thread are recorded.
LOCKSTEP_API bool grad_enabled() noexcept;

}  // namespace lockstep::inline v0
