#pragma once

namespace lockstep::inline v0::data::detail {

/// Whether a thread beside the computing one would get a core of its own: this process may run on
/// more than one, and the machine has two for each of `local_ranks` ranks.
bool has_spare_core(int local_ranks) noexcept;

}  // namespace lockstep::inline v0::data::detail
