#include "emulation/src/state.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "emulation/stream_queue.hpp"

namespace emulation {
namespace {

std::int64_t number_from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoll(text, nullptr, 0);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::uint64_t hash(const std::string& text) {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char character : text) {
    value = (value ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  }
  return value;
}

void read_failures(State& into) {
  const char* text = std::getenv("EMULATED_FAIL");
  if (text == nullptr) return;
  for (const std::string& failure : split(text, ',')) {
    const std::vector<std::string> parts = split(failure, ':');
    if (parts.size() != 3) {
      std::fprintf(stderr, "EMULATED_FAIL: \"%s\" is not name:n:code\n", failure.c_str());
      std::exit(2);
    }
    into.failures.push_back({parts[0], std::stoll(parts[1]), std::stoi(parts[2])});
  }
}

void read_environment(State& into) {
  into.settings = settings_from_environment();
  into.random = Random(into.settings.seed);
  read_failures(into);
  const std::int64_t dropped = number_from_environment("EMULATED_DROP_WAIT", -1);
  if (dropped >= 0) into.dropped_waits.push_back(dropped);
}

// What the driver or the lack of devices make impossible.
cudaError_t machine_error(const std::string& name, const Settings& settings) {
  if (name == "cudaDriverGetVersion" || name == "cudaRuntimeGetVersion") return cudaSuccess;
  if (settings.driver_version < CUDART_VERSION) return cudaErrorInsufficientDriver;
  return settings.visible.empty() ? cudaErrorNoDevice : cudaSuccess;
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t value = state_ += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

Settings settings_from_environment() {
  Settings settings;
  settings.device_count = static_cast<int>(number_from_environment("EMULATED_DEVICES", 1));
  settings.seed = static_cast<std::uint64_t>(number_from_environment("EMULATED_SEED", 0));
  settings.driver_version =
      static_cast<int>(number_from_environment("EMULATED_DRIVER_VERSION", CUDART_VERSION));
  char name[256] = "host";
  gethostname(name, sizeof name - 1);
  const char* host = std::getenv("EMULATED_HOST");
  settings.host = host != nullptr ? host : name;
  settings.visible = visible_devices(settings);
  return settings;
}

std::string uuid_of(const Settings& settings, int physical_device) {
  Random random(hash(settings.host) + static_cast<std::uint64_t>(physical_device));
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  char text[64];
  std::snprintf(text, sizeof text, "GPU-%08x-%04x-%04x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xffff), static_cast<unsigned>(low >> 48),
                static_cast<unsigned long long>(low & 0xffffffffffff));
  return text;
}

std::vector<int> visible_devices(const Settings& settings) {
  std::vector<int> devices;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int device = 0; device < settings.device_count; ++device) devices.push_back(device);
    return devices;
  }
  for (const std::string& entry : split(list, ',')) {
    int found = -1;
    for (int device = 0; device < settings.device_count; ++device) {
      const std::string uuid = uuid_of(settings, device);
      const bool by_uuid = entry.rfind("GPU-", 0) == 0 && uuid.rfind(entry, 0) == 0;
      if (entry == std::to_string(device) || by_uuid) found = device;
    }
    // As CUDA does: what follows an entry that means nothing is not looked at, and a device that
    // is named twice leaves none.
    if (found < 0) break;
    if (std::find(devices.begin(), devices.end(), found) != devices.end()) return {};
    devices.push_back(found);
  }
  return devices;
}

State& state() {
  static State* the_state = [] {  // never destroyed: destructors of statics may free memory
    auto* created = new State;
    read_environment(*created);
    return created;
  }();
  return *the_state;
}

ThreadState& this_thread() {
  static thread_local ThreadState the_state;
  return the_state;
}

std::optional<int> count_call(const char* name) {
  State& all = state();
  const Lock lock(all.mutex);
  ++all.calls[name];
  std::optional<int> error;
  for (Failure& failure : all.failures) {
    if (!failure.name.empty() && failure.name != name) continue;
    if (--failure.calls_left == 0) error = failure.error;
  }
  if (error) all.failed_call = name;
  std::erase_if(all.failures, [](const Failure& failure) { return failure.calls_left <= 0; });
  return error;
}

void count_live(const char* kind, int change) {
  const Lock lock(state().mutex);
  state().handles[kind] += change;
}

cudaError_t begin_call(const char* name) {
  State& all = state();
  const Lock lock(all.mutex);
  if (const std::optional<int> failure = count_call(name)) {
    return static_cast<cudaError_t>(*failure);
  }
  if (const cudaError_t error = machine_error(name, all.settings)) return error;
  if (all.sticky_error != cudaSuccess) return all.sticky_error;
  return this_thread().in_operation ? cudaErrorNotPermitted : cudaSuccess;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) this_thread().last_error = error;
  return error;
}

void poison(cudaError_t error) {
  const Lock lock(state().mutex);
  state().sticky_error = error;
}

void reset() {
  State& all = state();
  const Lock lock(all.mutex);
  all.counters = {};
  all.calls.clear();
  all.failures.clear();
  all.failed_call.clear();
  all.dropped_waits.clear();
  all.event_waits = 0;
  all.sticky_error = cudaSuccess;
  this_thread() = ThreadState{};
  read_environment(all);
}

void set_seed(std::uint64_t seed) {
  const Lock lock(state().mutex);
  state().settings.seed = seed;
  state().random = Random(seed);
}

std::uint64_t seed() { return state().settings.seed; }

void set_device_count(int count) {
  const Lock lock(state().mutex);
  state().settings.device_count = count;
  state().settings.visible = visible_devices(state().settings);
}

void set_device_memory(std::int64_t byte_count) {
  const Lock lock(state().mutex);
  state().settings.device_memory = byte_count;
}

void set_host_name(const std::string& name) {
  const Lock lock(state().mutex);
  state().settings.host = name;
}

std::string host_name() {
  const Lock lock(state().mutex);
  return state().settings.host;
}

std::string device_uuid(int device) {
  const Lock lock(state().mutex);
  const Settings& settings = state().settings;
  return uuid_of(settings, settings.visible.at(static_cast<std::size_t>(device)));
}

std::int64_t live_handles(const std::string& kind) {
  const Lock lock(state().mutex);
  return state().handles[kind];
}

Counters counters() {
  const Lock lock(state().mutex);
  return state().counters;
}

std::int64_t call_count(const std::string& name) {
  const Lock lock(state().mutex);
  return state().calls[name];
}

void fail_call(std::int64_t n, int error) { fail_call("", n, error); }

void fail_call(const std::string& name, std::int64_t n, int error) {
  const Lock lock(state().mutex);
  state().failures.push_back({name, n, error});
}

std::string failed_call() {
  const Lock lock(state().mutex);
  return state().failed_call;
}

std::int64_t event_wait_count() {
  const Lock lock(state().mutex);
  return state().event_waits;
}

void drop_event_wait(std::int64_t number) {
  const Lock lock(state().mutex);
  state().dropped_waits.push_back(number);
}

void poison_context(int error) { poison(static_cast<cudaError_t>(error)); }

}  // namespace emulation
