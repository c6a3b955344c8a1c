// Aborting a communicator without waiting for it. NCCL tells the kernels on the device to leave at
// once, but comes back only when the device has: behind another communicator's collective, or when
// the last graph that recorded a collective is gone.
#pragma once

#include <nccl.h>

#include <chrono>

namespace lockstep::inline v0::detail::nccl {

/// Aborts it on a thread of its own; nobody may use it any more.
void begin_abort(ncclComm_t communicator, int device) noexcept;
/// Returns when all have come to their end, or after that time.
void wait_for_aborts(std::chrono::milliseconds longest) noexcept;

}  // namespace lockstep::inline v0::detail::nccl
