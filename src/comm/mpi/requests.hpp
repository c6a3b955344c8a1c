// The MPI requests of one operation.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "comm/mpi/mpi_call.hpp"

namespace lockstep::inline v0::detail::mpi {

/// Where messages go: a communicator, and the tag of the operation.
struct Channel {
  MPI_Comm communicator;
  int tag;
};

class Requests {
 public:
  /// `token` comes back when the request is complete.
  void send(const void* data, int count, MPI_Datatype type, int peer, Channel channel,
            std::int64_t token = 0);
  void receive(void* data, int count, MPI_Datatype type, int peer, Channel channel,
               std::int64_t token = 0);
  /// A collective request, with no single peer.
  void add(MPI_Request request);

  bool empty() const noexcept { return requests_.empty(); }
  /// How many were complete so far.
  std::int64_t completed() const noexcept { return completed_; }
  bool pending(int peer) const noexcept;

  /// Calls finished(token, status) for each request that is complete, and forgets it. The callback
  /// may add requests. Returns whether there was one. @throws CallFailed
  template <class Finished>
  bool test(Finished&& finished) {
    if (requests_.empty()) return false;
    const int count = test_some();
    for (int i = 0; i < count; ++i)
      finished(done_[i].token, statuses_[static_cast<std::size_t>(i)]);
    return count > 0;
  }

  /// Takes back what nobody has matched yet. What cannot be taken back stays open, and so must its
  /// memory. Returns whether nothing stayed.
  bool abandon() noexcept;

 private:
  struct Note {
    std::int64_t token;
    int peer;
    bool receive;
  };

  /// Moves the notes of complete requests to done_ and returns their number.
  int test_some();

  std::int64_t completed_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<Note> notes_;
  std::vector<Note> done_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace lockstep::inline v0::detail::mpi
