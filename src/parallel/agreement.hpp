// Whether all ranks mean the same thing.
#pragma once

#include <string>
#include <vector>

#include <lockstep/comm/communicator.hpp>

namespace lockstep::inline v0::detail {

/// Collective. Each rank brings a list of lines; all must be equal. @throws InvalidUsage on all
/// ranks: `subject`, the first line that differs on rank 0 and on the lowest
/// rank that differs from it.
void check_agreement(const Communicator& ranks, const std::string& subject,
                     const std::vector<std::string>& lines);

}  // namespace lockstep::inline v0::detail
