// The only output that lockstep writes by itself: what made the job fail, to standard error.
#pragma once

#include <string>
#include <vector>

namespace lockstep::inline v0::detail {

/// "lockstep: text", in one write.
void report_failure(const std::string& text) noexcept;
/// "lockstep: rank 1: text", "lockstep: ranks 0, 2: text", or "lockstep: all 3 ranks: text".
void report_failure(const std::vector<int>& ranks, int size, const std::string& text) noexcept;

}  // namespace lockstep::inline v0::detail
