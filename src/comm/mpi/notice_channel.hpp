// Sends and reads notices on a communicator of its own. No receive is ever left open, so the host
// may finalize MPI at any time.
#pragma once

#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "comm/mpi/notice.hpp"

namespace lockstep::inline v0::detail::mpi {

class NoticeChannel {
 public:
  explicit NoticeChannel(MPI_Comm communicator) noexcept : communicator_(communicator) {}

  /// Does not block. @throws CallFailed
  void send(const Notice& notice, int family_rank);
  /// The next notice that has come and its sender. @throws CallFailed
  std::optional<std::pair<int, Notice>> read();
  /// Whether everything that was sent has left this rank.
  bool sent();

  MPI_Comm communicator() const noexcept { return communicator_; }

 private:
  struct Letter {
    MPI_Request request = MPI_REQUEST_NULL;
    int rank = 0;
    std::vector<char> bytes;
  };

  static constexpr int kTag = 0;

  void forget_sent();

  MPI_Comm communicator_;
  std::list<Letter> outgoing_;
  std::list<Letter> incoming_;  // matched, and on their way
};

}  // namespace lockstep::inline v0::detail::mpi
