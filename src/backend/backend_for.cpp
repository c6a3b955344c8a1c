#include "backend/backend.hpp"

namespace lockstep::inline v0::backend {

const Backend& backend_for(Device device) {
  return device.kind == DeviceKind::cuda ? cuda_backend(device.index) : cpu_backend();
}

Queue current_queue(Device device) {
  return device.kind == DeviceKind::cuda ? cuda_current_queue(device.index) : Queue{};
}

}  // namespace lockstep::inline v0::backend
