// Where memory lies and work runs.
#pragma once

#include <cstdint>
#include <string>

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0 {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int32_t index = 0;  // ordinal of the CUDA device; 0 on the CPU

  static constexpr Device cpu() noexcept { return {}; }
  static constexpr Device cuda(std::int32_t index = 0) noexcept {
    return {DeviceKind::cuda, index};
  }
  friend constexpr bool operator==(Device, Device) noexcept = default;
};

/// "cpu" or "cuda:0".
LOCKSTEP_API std::string to_string(Device device);

/// Number of CUDA devices that this process can use; 0 without a driver or in a build without CUDA.
LOCKSTEP_API int cuda_device_count() noexcept;

}  // namespace lockstep::inline v0
