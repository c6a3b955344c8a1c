// The seam to what moves device memory between the ranks of a communicator: NCCL, or copies through
// the host.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "comm/communicator_backend.hpp"

namespace lockstep::inline v0::detail {

/// The verbs for memory of one device.
class DevicePlane : public DataPlane {
 public:
  virtual void register_memory(void*, std::int64_t /*byte_count*/) {}
  virtual void forget_memory(void*) noexcept {}
  /// The same on all its ranks, and of no other; 0: nothing is shared with other ranks.
  virtual std::uint64_t id() const noexcept { return 0; }
  /// Whether a captured step that can be replayed holds a collective of it.
  virtual bool is_recorded() const noexcept { return false; }
  /// Whether nothing of it is in flight on this rank, or can be.
  virtual bool idle() noexcept { return true; }
  /// @throws CommunicationError if it has failed
  virtual void require_alive() {}
  /// Makes no further call, and holds its host communicator no longer.
  virtual void park() noexcept {}
  /// The ranks are here together and make no further call on it: begins to release it, together
  /// with the others.
  virtual void begin_close() {}
  /// Waits until that is done, on this rank. Calls poll() meanwhile, which may throw.
  virtual void finish_close(const std::function<void()>& /*poll*/) {}
};

struct PlaneContext {
  std::shared_ptr<CommunicatorBackend> host;  // the same ranks; control plane and watching
  Device device;
  std::shared_ptr<const std::atomic<std::int64_t>> step;  // for messages; -1: none
  std::shared_ptr<const std::atomic<std::int64_t>> timeout_ms;
};

/// Collective. nccl/ or no_nccl.cpp. @throws BackendUnavailable, CommunicationError
std::shared_ptr<DevicePlane> make_nccl_communicator(const PlaneContext& context);
/// "NCCL 2.28.9", or empty where it is not built.
std::string nccl_version();
/// After failures: waits until what NCCL aborts has come to its end, or for that time.
void wait_for_nccl_aborts(std::chrono::milliseconds longest) noexcept;
/// Copies through host memory, for ranks that share a GPU.
std::shared_ptr<DevicePlane> make_staged_communicator(const PlaneContext& context);

}  // namespace lockstep::inline v0::detail
