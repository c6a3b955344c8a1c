// What collectives that were given up may still write to, when the link that launched them is gone.
#pragma once

#include <memory>
#include <vector>

#include "comm/nccl/link.hpp"

namespace lockstep::inline v0::detail::nccl {

/// Keeps them until the device is known to be past them; for ever where it does not tell.
void keep_given_up(std::vector<std::shared_ptr<Flight>> flights) noexcept;
/// Lets go of those that the device has passed. On a thread of the program, which knows its queue.
void release_given_up();

/// Takes the flights that the device has passed out of the list.
std::vector<std::shared_ptr<Flight>> take_passed(std::vector<std::shared_ptr<Flight>>& flights);

}  // namespace lockstep::inline v0::detail::nccl
