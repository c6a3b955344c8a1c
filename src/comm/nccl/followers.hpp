// Who waits on the host for a queue that may be behind a collective hears of its failure.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include <lockstep/core/error.hpp>
#include "comm/communicator_backend.hpp"
#include "comm/nccl/link.hpp"

namespace lockstep::inline v0::detail::nccl {

/// What was launched and is not known to be complete, for those who wait on the host for a queue
/// that may be behind it.
class Followers {
 public:
  explicit Followers(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  void add(std::shared_ptr<Flight> flight, std::shared_ptr<WorkState> followed);
  /// The program knows of the failure.
  void clear();
  /// On any thread. Moves the oldest one along, which reads what other ranks say, where this
  /// thread is the one that launched it: another may not be allowed to call MPI. @throws
  /// CommunicationError, once for each failure
  void check();

 private:
  struct Follower {
    std::shared_ptr<Flight> flight;
    std::shared_ptr<WorkState> followed;
    std::thread::id thread;
  };
  void drop_finished();

  std::shared_ptr<Link> link_;
  std::mutex mutex_;
  std::deque<Follower> followers_;
};

/// Runs what may tell the program of a failure, which then needs not be told again by its next
/// wait.
template <class Body>
void telling(Followers& followers, Body body) {
  try {
    body();
  } catch (const CommunicationError&) {
    followers.clear();
    throw;
  }
}

}  // namespace lockstep::inline v0::detail::nccl
