// Stops engines before MPI is finalized, by whoever finalizes it.
#pragma once

namespace lockstep::inline v0::detail::mpi {

class Engine;

/// From now on MPI_Finalize stops the engine first (a delete callback on MPI_COMM_SELF, which MPI
/// runs at its start).
void guard(Engine& engine);
void unguard(Engine& engine) noexcept;

}  // namespace lockstep::inline v0::detail::mpi
