// What happens when, for those who want to know: spans of time reported to one sink of the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0 {

/// A span of work. The texts are valid during the call of the sink only.
struct TraceEvent {
  std::string_view category;  // "copy", "communication"
  std::string_view name;
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  std::int64_t byte_count = 0;
};

using TraceSink = std::function<void(const TraceEvent&)>;

/// Replaces the sink; an empty one switches tracing off. The sink may be called from several
/// threads at once, must not throw, and must not call lockstep. Set it while nothing else of
/// lockstep runs.
LOCKSTEP_API void set_trace_sink(TraceSink sink);
/// Whether there is a sink. Without one, tracing costs one test.
LOCKSTEP_API bool tracing() noexcept;
LOCKSTEP_API void trace(const TraceEvent& event);

namespace detail {

/// Reports the time from its construction to its end.
class TraceSpan {
 public:
  TraceSpan(std::string_view category, std::string_view name, std::int64_t byte_count)
      : on_(tracing()) {
    if (on_) event_ = {category, name, std::chrono::steady_clock::now(), {}, byte_count};
  }
  ~TraceSpan() {
    if (!on_) return;
    event_.end = std::chrono::steady_clock::now();
    trace(event_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  bool on_;
  TraceEvent event_;
};

}  // namespace detail

}  // namespace lockstep::inline v0
