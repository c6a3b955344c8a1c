// A build without MPI: jobs of one process.
#include <lockstep/core/error.hpp>
#include "comm/job.hpp"

namespace lockstep::inline v0::detail {

std::unique_ptr<Job> start_job(int&, char**&) { return start_self_job(); }

Environment environment_from_mpi(int, const EnvironmentOptions&) {
  throw BackendUnavailable(
      "this lockstep was built without MPI (LOCKSTEP_MPI=OFF, or MPI was not found); build it with "
      "-DLOCKSTEP_MPI=ON");
}

}  // namespace lockstep::inline v0::detail
