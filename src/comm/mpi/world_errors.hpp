// Errors that MPI raises on MPI_COMM_WORLD although they belong to a communicator of lockstep:
// MPICH does so in MPI_Test and its relatives. Under `run`, which owns MPI, they come back to
// lockstep's own calls; anyone else's stay fatal. In a host's MPI nothing is changed.
#pragma once

namespace lockstep::inline v0::detail::mpi {

/// Once, after MPI_Init.
void return_own_errors();

/// While it lives, the calls of this thread are lockstep's.
class OwnCalls {
 public:
  OwnCalls() noexcept { ++depth_; }
  ~OwnCalls() { --depth_; }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

  static bool under_way() noexcept { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace lockstep::inline v0::detail::mpi
