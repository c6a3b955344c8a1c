// Environments over MPI communicators.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/device_communicator.hpp"
#include "comm/environment_state.hpp"
#include "comm/mpi/engine.hpp"

namespace lockstep::inline v0::detail::mpi {

struct Started {
  std::unique_ptr<EnvironmentState> state;
  std::shared_ptr<Engine> engine;         // null for one rank
  std::shared_ptr<DeviceFamily> devices;  // null for one rank
};

/// Collective over `host`, of which nothing is kept. ends_job: for `run`. @throws InvalidUsage,
/// BackendUnavailable before anything is sent; CommunicationError
Started start_environment(MPI_Comm host, const EnvironmentOptions& options, bool ends_job = false);

}  // namespace lockstep::inline v0::detail::mpi
