// Counts the MPI calls of the program it is linked into (mpi_calls.cpp wraps them by PMPI).
#pragma once

#include <cstdint>

namespace mpi_calls {

struct Counts {
  std::int64_t all_reduces = 0;  // MPI_Allreduce and MPI_Iallreduce
  std::int64_t messages = 0;     // sends, receives and other collectives of elements
  std::int64_t sent_bytes = 0;   // of sends of elements
  std::int64_t talk = 0;         // the same calls on MPI_BYTE, and barriers: not gradients
  std::int64_t polls = 0;        // tests, waits and probes

  friend bool operator==(const Counts&, const Counts&) = default;
};

/// Since the last call of reset().
Counts counts();
void reset();

}  // namespace mpi_calls
