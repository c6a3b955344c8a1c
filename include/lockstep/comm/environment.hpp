// Environment: this rank's place in the job: the ranks, the device, the seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <lockstep/comm/communicator.hpp>
#include <lockstep/core/device.hpp>

namespace lockstep::inline v0 {

namespace detail {
struct EnvironmentState;
}

/// Who drives operations in flight: a thread of lockstep's own (needs MPI_THREAD_MULTIPLE), or
/// whoever waits. automatic: inline_calls when the thread level is lower or the ranks of this host
/// have one core each, else thread.
enum class Progress : std::uint8_t { automatic, inline_calls, thread };

enum class DeviceChoice : std::uint8_t { automatic, cpu, cuda };

struct EnvironmentOptions {
  DeviceChoice device =
      DeviceChoice::automatic;  // automatic: the CUDA device of this rank if there is one
  std::chrono::milliseconds timeout{
      0};  // of every wait; 0: LOCKSTEP_TIMEOUT (seconds), or 10 minutes
  Progress progress = Progress::automatic;  // automatic also reads LOCKSTEP_PROGRESS=inline|thread
  bool share_device = false;  // let ranks share a GPU, slowly; also LOCKSTEP_SHARE_DEVICE=1
};

class LOCKSTEP_API Environment {
 public:
  Environment(Environment&&) noexcept;
  Environment& operator=(Environment&&) noexcept;
  /// Releases what is left; never throws and runs no collective.
  ~Environment();

  int rank() const noexcept;
  int size() const noexcept;
  /// Among the ranks of this host.
  int local_rank() const noexcept;
  int local_size() const noexcept;
  bool is_root() const noexcept { return rank() == 0; }
  const Communicator& ranks() const noexcept;

  Device device() const noexcept;
  /// Chooses the device again, for programs that read it from their command line.
  /// @throws BackendUnavailable if it is not there.
  void select_device(DeviceChoice choice);

  /// Sets everything random that this process draws from: the default generator, and what loaders
  /// take as default.
  void seed(std::uint64_t seed);
  std::uint64_t seed() const noexcept;

  /// Writes one line to standard output on rank 0.
  void print(std::string_view line) const;

  /// Collective: waits until all ranks are here, then releases the communication. Later calls do
  /// nothing.
  void close();

  explicit Environment(std::unique_ptr<detail::EnvironmentState> state) noexcept;
  detail::EnvironmentState& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<detail::EnvironmentState> state_;
};

/// "auto", "cpu" or "cuda". @throws InvalidUsage
LOCKSTEP_API DeviceChoice device_choice(std::string_view text);

namespace detail {
/// From a communicator of the host program, as MPI_Comm_c2f gives it. Collective over that
/// communicator.
LOCKSTEP_API Environment environment_from_mpi(int fortran_handle,
                                              const EnvironmentOptions& options);
}  // namespace detail

}  // namespace lockstep::inline v0
