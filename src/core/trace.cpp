#include <lockstep/core/trace.hpp>

#include <utility>

namespace lockstep::inline v0 {

namespace {

TraceSink& sink() {
  static TraceSink current;
  return current;
}

}  // namespace

void set_trace_sink(TraceSink next) { sink() = std::move(next); }
bool tracing() noexcept { return static_cast<bool>(sink()); }
void trace(const TraceEvent& event) {
  if (sink()) sink()(event);
}

}  // namespace lockstep::inline v0
