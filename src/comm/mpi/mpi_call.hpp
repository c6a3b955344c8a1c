// Single MPI calls: checked results, types and operations.
#pragma once

#include <mpi.h>

#include <chrono>
#include <string>

#include <lockstep/comm/communicator.hpp>

namespace lockstep::inline v0::detail::mpi {

/// An MPI call returned an error. Becomes a CommunicationError where the operation is known.
struct CallFailed {
  const char* call;
  int code;
};

inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw CallFailed{call, code};
}

/// "MPI_Testsome: MPI_ERR_TRUNCATE: message truncated".
std::string to_string(const CallFailed& failure);
bool is_truncation(const CallFailed& failure);

/// bfloat16 and float16 travel as 16-bit words.
MPI_Datatype datatype(DType dtype) noexcept;
MPI_Op operation(ReduceOp op) noexcept;

bool is_initialized() noexcept;
bool is_finalized() noexcept;
int thread_level();

/// Collective: a communicator with traffic of its own whose errors are returned, not fatal to the
/// host. @throws CommunicationError at the deadline
MPI_Comm duplicate(MPI_Comm communicator, std::chrono::milliseconds timeout);

}  // namespace lockstep::inline v0::detail::mpi
