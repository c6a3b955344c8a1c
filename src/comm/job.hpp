// The seam between `run` and what starts processes: MPI, or nothing (a build or a start without
// MPI).
#pragma once

#include <memory>
#include <string>

#include "comm/environment_state.hpp"

namespace lockstep::inline v0::detail {

/// How the program ended on this rank.
struct Ending {
  int status = 0;
  bool threw = false;
  std::string text;  // of the exception
};

/// All processes that the launcher started together.
class Job {
 public:
  virtual ~Job() = default;
  virtual int size() const noexcept = 0;
  virtual std::unique_ptr<EnvironmentState> environment(const EnvironmentOptions& options) = 0;
  /// Agrees with the other ranks on the end, writes what failed to standard error and returns the
  /// exit status; or ends the process, if some rank does not come to its end in time.
  virtual int end(const Ending& own) = 0;
};

/// mpi/job.cpp or no_mpi.cpp.
std::unique_ptr<Job> start_job(int& argc, char**& argv);
/// The job of one process.
std::unique_ptr<Job> start_self_job();

}  // namespace lockstep::inline v0::detail
