#include <lockstep/comm/run.hpp>

#include <algorithm>
#include <exception>
#include <optional>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"
#include "comm/job.hpp"
#include "comm/report.hpp"
#include "comm/settings.hpp"

namespace lockstep::inline v0::detail {
namespace {

std::string current_exception_text() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc& error) {
    return std::string("out of memory (") + error.what() + ")";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not derived from std::exception";
  }
}

Ending call(const std::function<int(Environment&)>& program, Environment& environment) {
  try {
    return {.status = program(environment), .threw = false, .text = {}};
  } catch (...) {
    return {.status = 1, .threw = true, .text = current_exception_text()};
  }
}

/// Every rank in a world of its own means that the launcher and this program do not use the same
/// MPI; each would train alone and report success.
void check_world(const Job& job) {
  const int launched = launched_rank_count().value_or(1);
  if (job.size() > 1 || launched <= 1) return;
  throw BackendUnavailable(
      "the launcher started " + std::to_string(launched) +
      " processes, but each of them is in a world of 1: the program uses another MPI than the "
      "launcher, or this lockstep was built without MPI (LOCKSTEP_MPI=OFF); start it with the "
      "mpirun of the MPI that it was linked with (see ldd), or with one process");
}

}  // namespace

int run(int& argc, char**& argv, const EnvironmentOptions& options,
        const std::function<int(Environment&)>& program) {
  std::unique_ptr<Job> job;
  std::unique_ptr<EnvironmentState> state;
  std::optional<int> threads;
  try {
    job = start_job(argc, argv);
    check_world(*job);
    state = job->environment(options);
    threads = threads_asked_for();  // after it: the ranks can tell each other that it is wrong
  } catch (...) {
    const std::string text = current_exception_text();
    state.reset();
    // Processes that are not connected would all say the same.
    const bool speaks = (job && job->size() > 1) || launched_rank() == 0;
    if (job) return job->end({.status = 1, .threw = speaks, .text = text});
    if (speaks) report_failure(text);
    return 1;
  }
  backend::cuda_keep_device(true);  // the process is ours
  backend::set_cpu_thread_count(threads.value_or(std::max(1, state->core_count)));
  Ending own;
  {
    Environment environment(std::move(state));
    own = call(program, environment);
  }
  return job->end(own);
}

}  // namespace lockstep::inline v0::detail
