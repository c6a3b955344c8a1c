// What options and environment variables say.
#pragma once

#include <sched.h>

#include <chrono>
#include <optional>

#include <lockstep/comm/environment.hpp>

namespace lockstep::inline v0::detail {

/// The option, else LOCKSTEP_TIMEOUT in seconds (a fraction is allowed), else 10 minutes.
/// @throws InvalidUsage
std::chrono::milliseconds chosen_timeout(const EnvironmentOptions& options);
/// The option, else LOCKSTEP_PROGRESS=inline|thread, else automatic. @throws InvalidUsage
Progress chosen_progress(const EnvironmentOptions& options);

/// How many ranks the launcher says it started, from its environment variables (Open MPI's, PMI's,
/// or Slurm's with PMIx); nothing if no launcher is known.
std::optional<int> launched_rank_count();
/// This process's rank among them; 0 if no launcher is known.
int launched_rank();

/// OMP_NUM_THREADS, else MKL_NUM_THREADS, if one of them is set. @throws InvalidUsage if that is
/// not a positive number: a run with another number of threads has other bits.
std::optional<int> threads_asked_for();
/// Cores that this process may run on, each by its lowest hardware thread: two busy threads on one
/// core help nobody.
cpu_set_t usable_cores();
int usable_core_count();

}  // namespace lockstep::inline v0::detail
