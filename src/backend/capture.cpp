#include "backend/capture.hpp"

namespace lockstep::inline v0::backend {
namespace {

thread_local Capture* capture_of_this_thread = nullptr;

}  // namespace

Capture* current_capture() noexcept { return capture_of_this_thread; }
void set_current_capture(Capture* capture) noexcept { capture_of_this_thread = capture; }

}  // namespace lockstep::inline v0::backend
