// What an Environment holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <lockstep/comm/environment.hpp>

namespace lockstep::inline v0::detail {

struct DeviceFamily;

struct EnvironmentState {
  Communicator ranks;
  int local_rank = 0;
  int local_size = 1;
  int core_count = 1;  // that this rank may use: bound to it, or its part of those that are shared
  Device device;
  std::shared_ptr<DeviceFamily> family;  // null for one rank
  std::uint64_t seed = 0;
};

/// The environment of one process.
std::unique_ptr<EnvironmentState> self_environment(const EnvironmentOptions& options);
/// @throws BackendUnavailable if it is not there.
Device choose_device(DeviceChoice choice, int local_rank);
/// From now on `ranks` also moves memory of such devices.
void use_device(EnvironmentState& state, Device device);

}  // namespace lockstep::inline v0::detail
