#include <lockstep/comm/environment.hpp>

#include <cstdio>

#include <lockstep/core/error.hpp>
#include <lockstep/core/random.hpp>
#include "backend/backend.hpp"
#include "comm/communicator_backend.hpp"
#include "comm/device_choice.hpp"
#include "comm/device_communicator.hpp"
#include "comm/environment_state.hpp"
#include "comm/self/self_communicator.hpp"
#include "comm/settings.hpp"

namespace lockstep::inline v0 {

Environment::Environment(std::unique_ptr<detail::EnvironmentState> state) noexcept
    : state_(std::move(state)) {}
Environment::Environment(Environment&&) noexcept = default;
Environment& Environment::operator=(Environment&&) noexcept = default;
Environment::~Environment() = default;

int Environment::rank() const noexcept { return state_->ranks.rank(); }
int Environment::size() const noexcept { return state_->ranks.size(); }
int Environment::local_rank() const noexcept { return state_->local_rank; }
int Environment::local_size() const noexcept { return state_->local_size; }
const Communicator& Environment::ranks() const noexcept { return state_->ranks; }
Device Environment::device() const noexcept { return state_->device; }

void Environment::select_device(DeviceChoice choice) {
  detail::use_device(*state_, detail::choose_device(choice, state_->local_rank));
}

void Environment::seed(std::uint64_t seed) {
  state_->seed = seed;
  default_generator() = Generator(seed);
}

std::uint64_t Environment::seed() const noexcept { return state_->seed; }

void Environment::print(std::string_view line) const {
  if (!is_root()) return;
  // One call, so that lines of several threads or processes do not mix.
  std::string text(line);
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Environment::close() { state_->ranks.backend()->close(); }

DeviceChoice device_choice(std::string_view text) {
  if (text == "auto") return DeviceChoice::automatic;
  if (text == "cpu") return DeviceChoice::cpu;
  if (text == "cuda") return DeviceChoice::cuda;
  throw InvalidUsage("the device is \"" + std::string(text) + "\"; it must be auto, cpu or cuda");
}

namespace detail {

Device choose_device(DeviceChoice choice, int local_rank) {
  if (choice == DeviceChoice::cpu) return Device::cpu();
  const int count = cuda_device_count();
  if (count > 0) return Device::cuda(local_rank % count);
  if (choice == DeviceChoice::cuda)
    throw BackendUnavailable(
        "device cuda was asked for, but this process can use no CUDA device: " +
        backend::cuda_missing_reason() + "; ask for the device cpu, or auto");
  return Device::cpu();
}

void use_device(EnvironmentState& state, Device device) {
  state.device = device;
  const auto backend = state.ranks.backend();
  if (device.kind == DeviceKind::cpu || !state.family ||
      dynamic_cast<DeviceCommunicator*>(backend.get()) != nullptr)
    return;
  state.ranks = Communicator(std::make_shared<DeviceCommunicator>(backend, state.family));
}

std::unique_ptr<EnvironmentState> self_environment(const EnvironmentOptions& options) {
  auto state = std::make_unique<EnvironmentState>();
  const auto timeout = chosen_timeout(options);
  chosen_progress(options);  // the same complaint about a wrong value at any number of ranks
  chosen_sharing(options);
  state->ranks = Communicator(std::make_shared<SelfCommunicator>(timeout));
  state->core_count = usable_core_count();
  state->device = choose_device(options.device, 0);
  return state;
}

}  // namespace detail
}  // namespace lockstep::inline v0
