// One NCCL communicator of this process with the stream that its collectives run on, and what is in
// flight there. One lock guards NCCL's handle: it may be aborted by the monitor, by the thread that
// reads notices, or by whoever calls.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/core/error.hpp>
#include "comm/nccl/handles.hpp"

namespace lockstep::inline v0::detail::nccl {

using Clock = std::chrono::steady_clock;

/// A collective on its way. All but the constants is guarded by the link's lock.
struct Flight {
  Flight(std::string where, std::vector<Tensor> tensors)
      : place(std::move(where)), keep(std::move(tensors)) {}

  const std::string place;   // "all_reduce of 1024 float32 at step 3 on rank 2"
  std::vector<Tensor> keep;  // released by threads of the program, which know its queue
  std::optional<Event> begin;
  std::optional<Event> end;
  std::optional<Clock::time_point> begun;  // when the device was seen to have come to it
  bool on_device = false;                  // a part of it may be: its memory is in use
  bool launched = false;
  bool passed = false;    // complete, or taken back
  bool captured = false;  // part of a graph: there is nothing to wait for now
};

class Link;

/// What enqueues a collective: hands calls to NCCL, one after the other.
class Launcher {
 public:
  Launcher(Link& link, cudaStream_t stream) : link_(link), stream_(stream) {}
  cudaStream_t stream() const noexcept { return stream_; }
  /// Returns when NCCL has taken the call. @throws NcclFailed, CommunicationError
  void run(const std::function<ncclResult_t(ncclComm_t)>& call);
  /// The same for several calls as one group.
  void run_group(const std::function<ncclResult_t(ncclComm_t)>& calls);

 private:
  Link& link_;
  cudaStream_t stream_;
};

class Link {
 public:
  struct Identity {
    int device = 0;
    int rank = 0;
    int size = 1;
  };

  /// Begins to connect; connected() says when that is done.
  Link(Identity identity, const ncclUniqueId& id,
       std::shared_ptr<const std::atomic<std::int64_t>> timeout_ms);
  /// Aborts it, unless it was closed.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// @throws CommunicationError
  bool connected();
  /// Enqueues the flight behind what is on `compute` now. After a failure finished() throws.
  void launch(const std::shared_ptr<Flight>& flight, cudaStream_t compute,
              const std::function<void(Launcher&)>& enqueue);
  /// The flight is part of a graph that was launched on `compute` just now.
  void replayed(const std::shared_ptr<Flight>& flight, cudaStream_t compute);
  /// Does not wait. @throws CommunicationError
  bool finished(Flight& flight);
  /// What comes on `compute` runs after the flight. False if the flight has failed.
  bool order(Flight& flight, cudaStream_t compute);
  /// Whether it is known to be complete; asks nobody.
  bool landed(const Flight& flight) const;
  void abandon() noexcept;
  /// Of the monitor: errors that came by themselves, and what waits on the device for too long.
  /// Whether something is in flight.
  bool look() noexcept;
  /// @throws CommunicationError if it has failed
  void require_alive();
  /// Drops what finished flights kept; on a thread of the program.
  void release_kept();

  void register_memory(void* data, std::int64_t byte_count) noexcept;
  void forget_memory(void* data) noexcept;

  void begin_close() noexcept;
  void finish_close(const std::function<void()>& poll);

  /// Kept by a graph that has recorded a collective.
  std::shared_ptr<void> recording_token() const noexcept { return recordings_; }
  /// Whether there is such a graph: NCCL does not end before it does.
  bool is_recorded() const noexcept { return recordings_.use_count() > 1; }

  const Identity& identity() const noexcept { return identity_; }

 private:
  class Launching;
  friend class Launcher;
  using Lock = std::unique_lock<std::mutex>;

  bool enqueue_between_events(Flight& flight, cudaStream_t compute,
                              const std::function<void(Launcher&)>& enqueue);
  void settle(Lock& lock, ncclResult_t result);
  void call(const std::function<ncclResult_t(ncclComm_t)>& call);
  // These need the lock.
  void fail(std::string text, int code) noexcept;
  void abort() noexcept;
  void stop(const std::shared_ptr<Flight>& flight);
  void check_errors();
  void land(Flight& flight);
  bool event_passed(const Flight& flight, const Event& event);
  std::string who() const;
  std::chrono::milliseconds timeout() const { return std::chrono::milliseconds{*timeout_ms_}; }

  const Identity identity_;
  const std::shared_ptr<const std::atomic<std::int64_t>> timeout_ms_;
  std::optional<Stream> stream_;
  std::mutex launching_;  // launches come one after the other
  mutable std::mutex mutex_;
  ncclComm_t communicator_ = nullptr;
  bool connected_ = false;
  bool closing_ = false;
  bool aborted_ = false;
  std::shared_ptr<int> recordings_ = std::make_shared<int>();
  std::optional<CommunicationError> failure_;
  std::vector<std::shared_ptr<Flight>> flights_;  // in flight, in order
  std::string launching_place_;                   // of the flight that is being launched
  std::vector<std::shared_ptr<Flight>> stopped_;  // aborted, perhaps not at their end yet
  std::vector<std::vector<Tensor>> kept_;         // of finished ones
  std::map<void*, void*> registered_;             // memory and NCCL's handle
};

}  // namespace lockstep::inline v0::detail::nccl
