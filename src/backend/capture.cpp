#include "backend/capture.hpp"

#include <string>

#include "backend/capture_refused.hpp"

namespace lockstep::inline v0::backend {
namespace {

thread_local Capture* capture_of_this_thread = nullptr;

}  // namespace

Capture* current_capture() noexcept { return capture_of_this_thread; }
void set_current_capture(Capture* capture) noexcept { capture_of_this_thread = capture; }

void Capture::refuse(const char* what) const {
  throw CaptureRefused(std::string("a captured step ") + what + ", which a replay cannot do");
}

std::unique_ptr<Recording> make_recording(Device device) {
  return device.kind == DeviceKind::cuda ? make_cuda_recording(device.index) : nullptr;
}

}  // namespace lockstep::inline v0::backend
