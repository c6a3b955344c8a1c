#include "comm/mpi/requests.hpp"

#include <algorithm>

#include "comm/mpi/world_errors.hpp"

namespace lockstep::inline v0::detail::mpi {

void Requests::send(const void* data, int count, MPI_Datatype type, int peer, Channel channel,
                    std::int64_t token) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(data, count, type, peer, channel.tag, channel.communicator, &request),
        "MPI_Isend");
  requests_.push_back(request);
  notes_.push_back({token, peer, false});
}

void Requests::receive(void* data, int count, MPI_Datatype type, int peer, Channel channel,
                       std::int64_t token) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(data, count, type, peer, channel.tag, channel.communicator, &request),
        "MPI_Irecv");
  requests_.push_back(request);
  notes_.push_back({token, peer, true});
}

void Requests::add(MPI_Request request) {
  requests_.push_back(request);
  notes_.push_back({0, -1, false});
}

bool Requests::pending(int peer) const noexcept {
  return std::any_of(notes_.begin(), notes_.end(),
                     [&](const Note& note) { return note.peer == peer || note.peer == -1; });
}

int Requests::test_some() {
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const OwnCalls own_calls;
  int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                          indices_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i)
      if (const int error = statuses_[static_cast<std::size_t>(i)].MPI_ERROR; error != MPI_SUCCESS)
        code = error;
  check(code, "MPI_Testsome");
  if (count <= 0) return 0;
  completed_ += count;
  done_.clear();
  for (int i = 0; i < count; ++i)
    done_.push_back(notes_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])]);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    notes_[kept++] = notes_[i];
  }
  requests_.resize(kept);
  notes_.resize(kept);
  return count;
}

bool Requests::abandon() noexcept {
  bool nothing_stays = true;
  const OwnCalls own_calls;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (notes_[i].receive) MPI_Cancel(&requests_[i]);
    int finished = 0;
    MPI_Test(&requests_[i], &finished, MPI_STATUS_IGNORE);
    if (finished == 0) nothing_stays = false;
  }
  return nothing_stays;
}

}  // namespace lockstep::inline v0::detail::mpi
