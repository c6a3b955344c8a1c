// What the library has to say: lines to a sink that the program may replace.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0 {

enum class LogLevel : std::uint8_t { information, warning };

/// `line` ends without a line break and is valid during the call only.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

/// Replaces the sink, which writes "lockstep: <line>" to standard error at first; an empty one
/// drops all lines. The sink may be called from several threads, one at a time, and must not call
/// lockstep.
LOCKSTEP_API void set_log_sink(LogSink sink);
LOCKSTEP_API void log(LogLevel level, std::string_view line);

}  // namespace lockstep::inline v0
