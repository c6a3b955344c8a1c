#include <lockstep/core/log.hpp>

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

namespace lockstep::inline v0 {
namespace {

struct State {
  std::mutex mutex;
  LogSink sink = [](LogLevel level, std::string_view line) {
    // One call, so that lines of several processes do not mix.
    const std::string text = std::string("lockstep: ") +
                             (level == LogLevel::warning ? "warning: " : "") + std::string(line) +
                             "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
};

/// Never destroyed: objects of static storage duration may still log.
State& state() {
  static auto* instance = new State;
  return *instance;
}

}  // namespace

void set_log_sink(LogSink sink) {
  const std::lock_guard lock(state().mutex);
  state().sink = std::move(sink);
}

void log(LogLevel level, std::string_view line) {
  const std::lock_guard lock(state().mutex);
  if (state().sink) state().sink(level, line);
}

}  // namespace lockstep::inline v0
