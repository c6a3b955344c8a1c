// In place of NCCL in a build without it.
#include <string>

#include <lockstep/core/error.hpp>
#include "comm/device_plane.hpp"

namespace lockstep::inline v0::detail {

std::shared_ptr<DevicePlane> make_nccl_communicator(const PlaneContext& context) {
  throw BackendUnavailable("[nccl] rank " + std::to_string(context.host->rank()) +
                           ": a collective on " + to_string(context.device) +
                           " needs NCCL, and this lockstep was built without it; build with "
                           "-DLOCKSTEP_NCCL=ON, or use the device cpu");
}

std::string nccl_version() { return {}; }
void wait_for_nccl_aborts(std::chrono::milliseconds) noexcept {}

}  // namespace lockstep::inline v0::detail
