// Which GPU a rank takes, and what the ranks tell each other about theirs.
#pragma once

#include <string>
#include <vector>

#include <lockstep/comm/environment.hpp>
#include "comm/communicator_backend.hpp"

namespace lockstep::inline v0::detail {

/// The option, or LOCKSTEP_SHARE_DEVICE=1: several ranks may use one GPU. @throws InvalidUsage
bool chosen_sharing(const EnvironmentOptions& options);

/// A rank's device, as the other ranks see it.
struct RankDevice {
  Device device;
  std::string host;
  bool sharing = false;  // it asked for that
  std::string name;
  std::string uuid;  // empty on the CPU
  std::string pci;
};

class RankDevices {
 public:
  explicit RankDevices(std::vector<RankDevice> devices) : devices_(std::move(devices)) {}
  /// Whether two ranks are on one GPU.
  bool any_shared() const noexcept;
  /// One line per host: "host a: rank 0 NVIDIA H100 (0000:65:00.0, GPU-8f5a...), rank 1 ...".
  std::vector<std::string> lines() const;

 private:
  std::vector<RankDevice> devices_;
};

/// Collective. @throws InvalidUsage on all ranks: two ranks are on one GPU without `sharing`, or
/// some are on the CPU and others on a GPU; BackendUnavailable where a device cannot be used
RankDevices compare_devices(CommunicatorBackend& host, Device own, bool sharing);

}  // namespace lockstep::inline v0::detail
