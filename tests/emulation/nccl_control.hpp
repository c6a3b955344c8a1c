// How a test steers the stand-in of NCCL, besides control.hpp: its calls are counted and failed
// there by their names, and live communicators are live_handles("ncclComm").
#pragma once

namespace emulation {

/// Communicators of this process in which it has this rank report the error (an ncclResult_t) once
/// they were given so many collectives and messages, and move no data from then on. -1: none. Also
/// from the environment at the first call: EMULATED_NCCL_ASYNC_ERROR=rank:after[:error].
void fail_nccl_later(int rank, int after_calls, int error = 2 /* ncclSystemError */);

/// Ranks that do not call the same report ncclInvalidUsage; else they hang, as NCCL's do.
/// Also EMULATED_NCCL_REPORT_MISMATCH=1.
void report_nccl_mismatch(bool report);

/// ncclCommAbort stops what is in flight at once, but returns only when it is no longer held: as
/// NCCL's does while another communicator's kernel, or a graph, keeps the device.
void hold_nccl_aborts(bool hold);

}  // namespace emulation
