#include "comm/mpi/notice_channel.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

bool complete(MPI_Request& request) {
  int finished = 0;
  check(MPI_Test(&request, &finished, MPI_STATUS_IGNORE), "MPI_Test");
  return finished != 0;
}

}  // namespace

void NoticeChannel::send(const Notice& notice, int family_rank) {
  forget_sent();
  Letter& letter = outgoing_.emplace_back();
  letter.rank = family_rank;
  letter.bytes = encode(notice);
  check(MPI_Isend(letter.bytes.data(), static_cast<int>(letter.bytes.size()), MPI_BYTE, family_rank,
                  kTag, communicator_, &letter.request),
        "MPI_Isend");
}

void NoticeChannel::forget_sent() {
  for (auto letter = outgoing_.begin(); letter != outgoing_.end();)
    letter = complete(letter->request) ? outgoing_.erase(letter) : std::next(letter);
}

bool NoticeChannel::sent() {
  forget_sent();
  return outgoing_.empty();
}

std::optional<std::pair<int, Notice>> NoticeChannel::read() {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(MPI_ANY_SOURCE, kTag, communicator_, &found, &message, &status), "MPI_Improbe");
  if (found != 0) {
    int count = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    Letter& letter = incoming_.emplace_back();
    letter.rank = status.MPI_SOURCE;
    letter.bytes.resize(static_cast<std::size_t>(count));
    check(MPI_Imrecv(letter.bytes.data(), count, MPI_BYTE, &message, &letter.request),
          "MPI_Imrecv");
  }
  // In the order of arrival: the notices of one rank must not overtake each other.
  if (incoming_.empty() || !complete(incoming_.front().request)) return std::nullopt;
  const int rank = incoming_.front().rank;
  Notice notice = decode(incoming_.front().bytes);
  incoming_.pop_front();
  return std::pair{rank, std::move(notice)};
}

}  // namespace lockstep::inline v0::detail::mpi
