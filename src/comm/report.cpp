#include "comm/report.hpp"

#include <unistd.h>

namespace lockstep::inline v0::detail {

void report_failure(const std::string& text) noexcept {
  try {
    const std::string line = "lockstep: " + text + "\n";
    for (std::size_t written = 0; written < line.size();) {
      const auto count = write(STDERR_FILENO, line.data() + written, line.size() - written);
      if (count <= 0) return;
      written += static_cast<std::size_t>(count);
    }
  } catch (...) {  // without memory there is nothing left to say
  }
}

void report_failure(const std::vector<int>& ranks, int size, const std::string& text) noexcept {
  try {
    if (static_cast<int>(ranks.size()) == size) {
      report_failure(size == 1 ? text : "all " + std::to_string(size) + " ranks: " + text);
      return;
    }
    std::string who = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i)
      who += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    report_failure(who + ": " + text);
  } catch (...) {
  }
}

}  // namespace lockstep::inline v0::detail
