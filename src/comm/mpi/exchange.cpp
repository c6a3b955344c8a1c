#include "comm/mpi/exchange.hpp"

#include <cstring>

#include "comm/mpi/tuning.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

char* at(const Span& span, std::int64_t element) noexcept {
  return static_cast<char*>(span.data) + element * byte_size(span.dtype);
}

}  // namespace

DirectExchange::DirectExchange(std::shared_ptr<Group> group, const Call& call, Span input,
                               Span output, std::vector<Tensor> keep)
    : Collective(std::move(group), call, std::move(keep)),
      input_(input),
      output_(output),
      part_count_(output.count / this->group().size) {}

void DirectExchange::begin() {
  const int rank = group().rank;
  const int size = group().size;
  const bool to_all = call().verb == Verb::all_gather;  // the same part to everyone
  const MPI_Datatype type = datatype(input_.dtype);
  const SplitCounts parts = split_counts(part_count_, tuning().elements_per_call);

  for (int step = 1; step < size; ++step) {
    const int peer = (rank + size - step) % size;
    for (std::int64_t part = 0; part < parts.parts(); ++part)
      requests_.receive(at(output_, peer * part_count_ + parts.offset(part)), parts.size(part),
                        type, peer, channel(kFirst));
  }
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const std::int64_t begin = to_all ? 0 : peer * part_count_;
    for (std::int64_t part = 0; part < parts.parts(); ++part)
      requests_.send(at(input_, begin + parts.offset(part)), parts.size(part), type, peer,
                     channel(kFirst));
  }
  const char* own = at(input_, to_all ? 0 : rank * part_count_);
  char* place = at(output_, rank * part_count_);
  if (own != place && part_count_ > 0)
    std::memcpy(place, own, static_cast<std::size_t>(part_count_ * byte_size(input_.dtype)));
}

bool DirectExchange::transfer() {
  requests_.test([](std::int64_t, const MPI_Status&) {});
  return requests_.empty();
}

void Message::start() {
  const Channel channel{group().messages, call().tag};
  const SplitCounts parts = split_counts(values_.count, tuning().elements_per_call);
  // A message without elements is sent too: the receiver waits for it.
  const std::int64_t messages = values_.count == 0 ? 1 : parts.parts();
  for (std::int64_t part = 0; part < messages; ++part) {
    const int count = values_.count == 0 ? 0 : parts.size(part);
    if (call().verb == Verb::send)
      requests_.send(at(values_, parts.offset(part)), count, datatype(values_.dtype), call().peer,
                     channel, part);
    else
      requests_.receive(at(values_, parts.offset(part)), count, datatype(values_.dtype),
                        call().peer, channel, part);
  }
}

bool Message::advance() {
  try {
    requests_.test([&](std::int64_t part, const MPI_Status& status) {
      if (call().verb == Verb::receive) check_size(part, status);
    });
  } catch (const CallFailed& failure) {
    if (!is_truncation(failure)) throw;
    throw Failure{"[mpi] " + to_string(call()) + " on rank " + std::to_string(group().rank) +
                      ": the message is longer; both ranks must give the same count and dtype",
                  call().peer, failure.code};
  }
  return requests_.empty();
}

void Message::check_size(std::int64_t part, const MPI_Status& status) const {
  int received = 0;
  check(MPI_Get_count(&status, datatype(values_.dtype), &received), "MPI_Get_count");
  const int expected =
      values_.count == 0 ? 0 : split_counts(values_.count, tuning().elements_per_call).size(part);
  if (received == expected) return;
  throw Failure{"[mpi] " + to_string(call()) + " on rank " + std::to_string(group().rank) +
                    ": a message of " + std::to_string(received) +
                    " elements came; both ranks must give the same count and dtype",
                call().peer, 0};
}

}  // namespace lockstep::inline v0::detail::mpi
