#include "comm/mpi/control_gather.hpp"

#include <algorithm>
#include <cstring>

#include "comm/mpi/tuning.hpp"

namespace lockstep::inline v0::detail::mpi {

ControlGather::ControlGather(std::shared_ptr<Group> group, const Call& call, std::string_view own)
    : Operation(std::move(group), call, {}),
      envelopes_(static_cast<std::size_t>(this->group().size)),
      heard_(envelopes_.size()),
      bytes_(envelopes_.size()) {
  bytes_[static_cast<std::size_t>(this->group().rank)] = own;
  heard_[static_cast<std::size_t>(this->group().rank)] = true;
}

Channel ControlGather::channel() const noexcept {
  return {group().control, static_cast<int>(number() % group().most_tag)};
}

void ControlGather::start() {
  const int rank = group().rank;
  const int size = group().size;
  const std::string& own = bytes_[static_cast<std::size_t>(rank)];
  const auto byte_count = static_cast<std::int64_t>(own.size());
  const std::int64_t inside = std::min(byte_count, Envelope::kRoom);
  own_.number = number();
  own_.verb = static_cast<std::int64_t>(call().verb);
  own_.byte_count = byte_count;
  std::memcpy(own_.bytes, own.data(), static_cast<std::size_t>(inside));

  const SplitCounts rest = split_counts(byte_count - inside, kMostElementsPerCall);
  for (int step = 1; step < size; ++step) {
    const int source = (rank + size - step) % size;
    requests_.receive(&envelopes_[static_cast<std::size_t>(source)], sizeof(Envelope), MPI_BYTE,
                      source, channel(), source + 1);
  }
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    requests_.send(&own_, static_cast<int>(kHeadBytes + inside), MPI_BYTE, peer, channel());
    for (std::int64_t part = 0; part < rest.parts(); ++part)
      requests_.send(own.data() + inside + rest.offset(part), rest.size(part), MPI_BYTE, peer,
                     channel());
  }
}

void ControlGather::open(int rank) {
  const auto place = static_cast<std::size_t>(rank);
  const Envelope& envelope = envelopes_[place];
  heard_[place] = true;
  if (envelope.verb != own_.verb || envelope.number != own_.number)
    throw Failure{"[mpi] mismatch in the control plane: rank " + std::to_string(group().rank) +
                      " called " + to_string(call()) + ", but rank " + std::to_string(rank) +
                      " called " + name(static_cast<Verb>(envelope.verb)) +
                      "; all ranks must make the same calls in the same order",
                  rank, 0};
  const std::int64_t inside = std::min(envelope.byte_count, Envelope::kRoom);
  std::string& bytes = bytes_[place];
  bytes.resize(static_cast<std::size_t>(envelope.byte_count));
  std::memcpy(bytes.data(), envelope.bytes, static_cast<std::size_t>(inside));
  const SplitCounts rest = split_counts(envelope.byte_count - inside, kMostElementsPerCall);
  for (std::int64_t part = 0; part < rest.parts(); ++part)
    requests_.receive(bytes.data() + inside + rest.offset(part), rest.size(part), MPI_BYTE, rank,
                      channel());
}

bool ControlGather::advance() {
  requests_.test([&](std::int64_t token, const MPI_Status&) {
    if (token > 0) open(static_cast<int>(token - 1));
  });
  return requests_.empty();
}

}  // namespace lockstep::inline v0::detail::mpi
