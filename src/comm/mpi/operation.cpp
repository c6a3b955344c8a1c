#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

Collective::Collective(std::shared_ptr<Group> group, const Call& call, std::vector<Tensor> keep,
                       Greets greets)
    : Operation(std::move(group), call, std::move(keep)),
      greetings_awaited_(greets == Greets::everyone ? this->group().size - 1 : 1),
      greetings_(static_cast<std::size_t>(greetings_awaited_)),
      heard_(static_cast<std::size_t>(this->group().size)) {}

void Collective::start() {
  own_ = {number(), call()};
  constexpr int kBytes = sizeof(Greeting);
  const int rank = group().rank;
  const int size = group().size;
  for (int distance = 1; distance <= greetings_awaited_; ++distance) {
    const int source = (rank + size - distance) % size;
    greeting_requests_.receive(&greetings_[static_cast<std::size_t>(distance - 1)], kBytes,
                               MPI_BYTE, source, channel(kGreeting), source + 1);
  }
  for (int distance = 1; distance <= greetings_awaited_; ++distance)
    greeting_requests_.send(&own_, kBytes, MPI_BYTE, (rank + distance) % size, channel(kGreeting));
  begin();
}

bool Collective::advance() {
  greeting_requests_.test([&](std::int64_t token, const MPI_Status&) {
    if (token == 0) return;
    const int rank = static_cast<int>(token - 1);
    hear_of(rank);
    compare_greeting(rank);
    --greetings_awaited_;
  });
  if (truncated_since_ != Clock::time_point{}) {
    check_truncated();
    return false;
  }
  if (!transferred_) {
    try {
      transferred_ = transfer();
    } catch (const CallFailed& failure) {
      if (!is_truncation(failure)) throw;
      truncated_since_ = Clock::now();
      return false;
    }
  }
  return transferred_ && greeting_requests_.empty();
}

bool Collective::abandon() noexcept {
  const bool greetings_gone = greeting_requests_.abandon();
  return Operation::abandon() && greetings_gone;
}

Channel Collective::channel(Purpose purpose) const noexcept {
  const std::int64_t numbers = group().most_tag / kPurposes;
  return {group().data, static_cast<int>(number() % numbers) * kPurposes + purpose};
}

void Collective::compare_greeting(int rank) const {
  const int distance = (group().rank + group().size - rank) % group().size;
  const Greeting& theirs = greetings_[static_cast<std::size_t>(distance - 1)];
  if (theirs.number != own_.number || theirs.call != own_.call)
    throw mismatch(own_.number, group().rank, own_.call, rank, theirs.call);
}

void Collective::check_truncated() {
  constexpr auto kPatience = std::chrono::seconds{1};
  if (Clock::now() - truncated_since_ < kPatience) return;
  throw Failure{"[mpi] " + to_string(call()) + " (data collective " + std::to_string(number() + 1) +
                    ") on rank " + std::to_string(group().rank) +
                    ": a message was longer than expected, so another rank called it with another "
                    "count or dtype; all ranks must make the same calls in the same order",
                -1, MPI_ERR_TRUNCATE};
}

Failure mismatch(std::int64_t number, int rank, const Call& call, int other, const Call& theirs) {
  return {"[mpi] mismatch in data collective " + std::to_string(number + 1) + ": rank " +
              std::to_string(rank) + " called " + to_string(call) + ", but rank " +
              std::to_string(other) + " called " + to_string(theirs) +
              "; all ranks must make the same calls in the same order",
          other, 0};
}

}  // namespace lockstep::inline v0::detail::mpi
