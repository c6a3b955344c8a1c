#include "comm/mpi/environment.hpp"

#include <sched.h>

#include <numeric>
#include <vector>

#include <lockstep/core/error.hpp>
#include "comm/device_choice.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/settings.hpp"

namespace lockstep::inline v0::detail {
namespace mpi {
namespace {

/// The ranks of this host and the cores that they may use.
struct Locality {
  int rank = 0;
  int size = 1;
  double cores = 1;  // of this rank; a core that k ranks may use counts 1/k
};

Locality find_locality(MPI_Comm communicator) {
  MPI_Comm local = MPI_COMM_NULL;
  check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local),
        "MPI_Comm_split_type");
  Locality locality;
  check(MPI_Comm_rank(local, &locality.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(local, &locality.size), "MPI_Comm_size");
  const cpu_set_t own = usable_cores();
  std::vector<cpu_set_t> all(static_cast<std::size_t>(locality.size));
  check(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, local),
        "MPI_Allgather");
  check(MPI_Comm_free(&local), "MPI_Comm_free");
  locality.cores = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &own)) continue;
    int users = 0;
    for (const cpu_set_t& cores : all) users += CPU_ISSET(core, &cores) ? 1 : 0;
    locality.cores += 1.0 / users;
  }
  return locality;
}

bool wants_thread(Progress progress, double cores, int level) {
  if (progress == Progress::automatic) return level == MPI_THREAD_MULTIPLE && cores > 1.99;
  return progress == Progress::thread;
}

void check_thread_level(Progress progress, int level) {
  if (progress != Progress::thread || level == MPI_THREAD_MULTIPLE) return;
  throw InvalidUsage(
      "Progress::thread needs MPI_THREAD_MULTIPLE, but MPI was initialized with less; call "
      "MPI_Init_thread with MPI_THREAD_MULTIPLE, or use Progress::inline_calls");
}

Started start(MPI_Comm host, const EnvironmentOptions& options, bool ends_job) {
  const auto timeout = chosen_timeout(options);
  const Progress progress = chosen_progress(options);
  const int level = thread_level();
  int size = 0;
  check(MPI_Comm_size(host, &size), "MPI_Comm_size");
  if (size == 1) return {self_environment(options), nullptr, nullptr};
  check_thread_level(progress, level);
  const bool sharing = chosen_sharing(options);
  if (options.device == DeviceChoice::cuda) choose_device(options.device, 0);

  const MPI_Comm notices = duplicate(host, timeout);
  // Every rank is here now, so the blocking calls of this do not wait for long.
  const Locality locality = find_locality(notices);
  Engine::Settings settings;
  settings.thread = wants_thread(progress, locality.cores, level);
  settings.ends_job = ends_job;
  settings.cores_are_shared = locality.cores < 0.99;
  auto engine = std::make_shared<Engine>(notices, settings);
  std::vector<int> family_ranks(static_cast<std::size_t>(size));
  std::iota(family_ranks.begin(), family_ranks.end(), 0);

  auto state = std::make_unique<EnvironmentState>();
  state->ranks = Communicator(std::make_shared<MpiCommunicator>(
      engine, make_group(notices, 1, std::move(family_ranks), timeout)));
  state->local_rank = locality.rank;
  state->local_size = locality.size;
  state->core_count = static_cast<int>(locality.cores + 0.01);
  state->family = std::make_shared<DeviceFamily>();
  state->family->share_device = sharing;
  use_device(*state, choose_device(options.device, locality.rank));
  // Who asked for CUDA hears of two ranks on one GPU now, not at the first collective.
  if (options.device == DeviceChoice::cuda && !nccl_version().empty())
    describe(*state->family, compare_devices(*state->ranks.backend(), state->device, sharing),
             state->ranks.rank());
  auto devices = state->family;
  return {std::move(state), std::move(engine), std::move(devices)};
}

}  // namespace

Started start_environment(MPI_Comm host, const EnvironmentOptions& options, bool ends_job) {
  try {
    return start(host, options, ends_job);
  } catch (const CallFailed& failure) {
    throw CommunicationError("[mpi] environment: " + to_string(failure), -1, failure.code);
  }
}

}  // namespace mpi

Environment environment_from_mpi(int fortran_handle, const EnvironmentOptions& options) {
  if (!mpi::is_initialized())
    throw InvalidUsage("lockstep::mpi::environment before MPI_Init: initialize MPI first");
  if (mpi::is_finalized())
    throw InvalidUsage("lockstep::mpi::environment after MPI_Finalize: make it before");
  const MPI_Comm host = MPI_Comm_f2c(fortran_handle);
  if (host == MPI_COMM_NULL)
    throw InvalidUsage(
        "lockstep::mpi::environment of MPI_COMM_NULL: call it only on ranks that are in the "
        "communicator");
  return Environment(mpi::start_environment(host, options).state);
}

}  // namespace lockstep::inline v0::detail
