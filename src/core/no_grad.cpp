#include <lockstep/core/no_grad.hpp>

namespace lockstep::inline v0 {

namespace {
thread_local bool enabled = true;
}

NoGrad::NoGrad() noexcept : before_(enabled) { enabled = false; }
NoGrad::~NoGrad() { enabled = before_; }
bool grad_enabled() noexcept { return enabled; }

}  // namespace lockstep::inline v0
