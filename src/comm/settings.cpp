#include "comm/settings.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::detail {
namespace {

std::optional<int> positive_number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 1 || value > 1'000'000) return std::nullopt;
  return static_cast<int>(value);
}

/// Of OMP_NUM_THREADS or MKL_NUM_THREADS; nothing if it is unset or empty.
std::optional<int> thread_number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  const bool read = end != text;
  while (*end == ' ') ++end;
  // It may be a list, one number per nesting level: the first counts.
  if (!read || (*end != '\0' && *end != ',') || value < 1 || value > 1'000'000)
    throw InvalidUsage(std::string(variable) + " is \"" + text +
                       "\"; it must be a positive number of threads, for example 4, or be unset: "
                       "then each rank uses the cores that it was given");
  return static_cast<int>(value);
}

std::optional<int> number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0') return std::nullopt;
  return static_cast<int>(value);
}

}  // namespace

std::chrono::milliseconds chosen_timeout(const EnvironmentOptions& options) {
  using std::chrono::milliseconds;
  if (options.timeout < milliseconds{0})
    throw InvalidUsage("EnvironmentOptions::timeout is " + std::to_string(options.timeout.count()) +
                       " ms; give a positive time, or 0 for the default");
  if (options.timeout > milliseconds{0}) return options.timeout;
  const char* text = std::getenv("LOCKSTEP_TIMEOUT");
  if (text == nullptr || *text == '\0') return std::chrono::minutes{10};
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  constexpr double kMostSeconds = 1e9;
  if (end == text || *end != '\0' || !(seconds > 0) || seconds > kMostSeconds)
    throw InvalidUsage("LOCKSTEP_TIMEOUT is \"" + std::string(text) +
                       "\"; it must be a positive number of seconds, for example 600 or 2.5");
  return milliseconds{std::max<std::int64_t>(1, std::llround(seconds * 1e3))};
}

Progress chosen_progress(const EnvironmentOptions& options) {
  if (options.progress != Progress::automatic) return options.progress;
  const char* text = std::getenv("LOCKSTEP_PROGRESS");
  if (text == nullptr || *text == '\0') return Progress::automatic;
  const std::string_view choice = text;
  if (choice == "inline") return Progress::inline_calls;
  if (choice == "thread") return Progress::thread;
  if (choice == "auto") return Progress::automatic;
  throw InvalidUsage("LOCKSTEP_PROGRESS is \"" + std::string(choice) +
                     "\"; it must be inline, thread or auto");
}

std::optional<int> launched_rank_count() {
  if (const auto size = positive_number("OMPI_COMM_WORLD_SIZE")) return size;
  if (const auto size = positive_number("PMI_SIZE")) return size;
  // Slurm sets its variable in every step, so it counts only where the step also made this a rank.
  if (std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr)
    return positive_number("SLURM_STEP_NUM_TASKS");
  return std::nullopt;
}

int launched_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const auto rank = number(variable)) return *rank;
  return 0;
}

std::optional<int> threads_asked_for() {
  if (const auto count = thread_number("OMP_NUM_THREADS")) return count;
  return thread_number("MKL_NUM_THREADS");
}

namespace {

/// The lowest hardware thread of the core that this one belongs to; itself where that is not known.
int core_of(int hardware_thread) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(hardware_thread) +
                     "/topology/thread_siblings_list");
  int first = hardware_thread;  // the list is "0,64" or "0-1"
  return file >> first ? first : hardware_thread;
}

}  // namespace

cpu_set_t usable_cores() {
  cpu_set_t threads;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof threads, &threads) != 0) {
    CPU_ZERO(&threads);
    const unsigned count = std::min<unsigned>(std::thread::hardware_concurrency(), CPU_SETSIZE);
    for (unsigned i = 0; i < std::max(1U, count); ++i) CPU_SET(i, &threads);
  }
  for (int thread = 0; thread < CPU_SETSIZE; ++thread)
    if (CPU_ISSET(thread, &threads)) CPU_SET(core_of(thread), &cores);
  return cores;
}

int usable_core_count() {
  const cpu_set_t cores = usable_cores();
  return CPU_COUNT(&cores);
}

}  // namespace lockstep::inline v0::detail
