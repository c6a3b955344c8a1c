#include "comm/device_choice.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"

namespace lockstep::inline v0::detail {
namespace {

constexpr char kSeparator = '\n';

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown host";
  return name;
}

/// Kind, index, host, whether it would share, name, uuid, pci, and what went wrong; a rank that
/// cannot read its device still tells the others.
std::string own_lines(Device own, bool sharing) {
  std::vector<std::string> parts = {std::to_string(static_cast<int>(own.kind)),
                                    std::to_string(own.index),
                                    host_name(),
                                    sharing ? "1" : "0",
                                    "",
                                    "",
                                    "",
                                    ""};
  if (own.kind == DeviceKind::cuda) {
    try {
      const auto description = backend::cuda_device_description(own.index);
      parts[4] = description.name;
      parts[5] = description.uuid;
      parts[6] = description.pci;
    } catch (const Error& error) {
      parts[7] = error.what();
    }
  }
  std::string text;
  for (const std::string& part : parts) text += part + kSeparator;
  return text;
}

std::string next_part(std::string_view& text) {
  const std::size_t end = text.find(kSeparator);
  std::string part(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

RankDevice parse(std::string_view text, int rank) {
  RankDevice device;
  device.device.kind = static_cast<DeviceKind>(std::atoi(next_part(text).c_str()));
  device.device.index = std::atoi(next_part(text).c_str());
  device.host = next_part(text);
  device.sharing = next_part(text) == "1";
  device.name = next_part(text);
  device.uuid = next_part(text);
  device.pci = next_part(text);
  if (!text.empty() && text != "\n")
    throw BackendUnavailable("rank " + std::to_string(rank) + " on " + device.host +
                             " cannot use its device: " + std::string(text));
  return device;
}

std::string text(int rank, const RankDevice& device) {
  return "rank " + std::to_string(rank) + " (" + device.host + ", " + to_string(device.device) +
         ")";
}

/// @throws InvalidUsage
void check_pair(int first, const RankDevice& a, int second, const RankDevice& b, bool sharing) {
  if (a.device.kind != b.device.kind)
    throw InvalidUsage(text(first, a) + " and " + text(second, b) +
                       " use unlike devices; give every rank a GPU, or ask for the device cpu on "
                       "all of them");
  if (sharing || a.uuid.empty() || a.uuid != b.uuid) return;
  throw InvalidUsage(
      text(first, a) + " and " + text(second, b) + " are on one GPU, " + a.name + " " + a.uuid +
      "; start at most one rank per GPU on each host, or make another GPU visible to each rank "
      "(CUDA_VISIBLE_DEVICES), or let them share it, slowly, through host memory "
      "(EnvironmentOptions::share_device, LOCKSTEP_SHARE_DEVICE=1)");
}

}  // namespace

bool chosen_sharing(const EnvironmentOptions& options) {
  if (options.share_device) return true;
  const char* text = std::getenv("LOCKSTEP_SHARE_DEVICE");
  if (text == nullptr || *text == '\0') return false;
  const std::string_view choice = text;
  if (choice == "1") return true;
  if (choice == "0") return false;
  throw InvalidUsage("LOCKSTEP_SHARE_DEVICE is \"" + std::string(choice) + "\"; it must be 0 or 1");
}

bool RankDevices::any_shared() const noexcept {
  for (std::size_t a = 0; a < devices_.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!devices_[a].uuid.empty() && devices_[a].uuid == devices_[b].uuid) return true;
  return false;
}

std::vector<std::string> RankDevices::lines() const {
  std::vector<std::string> hosts;
  std::vector<std::string> lines;
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    const RankDevice& device = devices_[rank];
    std::size_t place = 0;
    while (place < hosts.size() && hosts[place] != device.host) ++place;
    if (place == hosts.size()) {
      hosts.push_back(device.host);
      lines.push_back("host " + device.host + ":");
    }
    lines[place] +=
        (lines[place].back() == ':' ? " rank " : ", rank ") + std::to_string(rank) + " " +
        (device.uuid.empty() ? to_string(device.device)
                             : device.name + " (" + device.pci + ", " + device.uuid + ")");
  }
  return lines;
}

RankDevices compare_devices(CommunicatorBackend& host, Device own, bool sharing) {
  const std::vector<std::string> all = host.gather_bytes(own_lines(own, sharing));
  std::vector<RankDevice> devices;
  for (const std::string& text : all) {
    devices.push_back(parse(text, static_cast<int>(devices.size())));
    sharing = sharing || devices.back().sharing;  // so that all ranks decide alike
  }
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = a + 1; b < devices.size(); ++b)
      check_pair(static_cast<int>(a), devices[a], static_cast<int>(b), devices[b], sharing);
  return RankDevices(std::move(devices));
}

}  // namespace lockstep::inline v0::detail
