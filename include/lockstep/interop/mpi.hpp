// Lockstep as a guest in a program that owns MPI. Inline, so that the library's own headers name no
// MPI type.
#pragma once

#include <mpi.h>

#include <lockstep/comm/environment.hpp>

namespace lockstep::inline v0::mpi {

/// An environment over the ranks of `communicator` (any subset of the world, several at once).
/// Collective over it. Any thread level; below MPI_THREAD_MULTIPLE call lockstep from the threads
/// that may call MPI. Lockstep duplicates the communicator, and never initializes, finalizes or
/// aborts MPI. @throws InvalidUsage before MPI_Init
/// and after MPI_Finalize.
inline Environment environment(MPI_Comm communicator, const EnvironmentOptions& options = {}) {
  // Outside of its life MPI answers MPI_Comm_c2f by ending the job; the library throws instead.
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  const bool alive = initialized != 0 && finalized == 0;
  return detail::environment_from_mpi(alive ? static_cast<int>(MPI_Comm_c2f(communicator)) : 0,
                                      options);
}

}  // namespace lockstep::inline v0::mpi
