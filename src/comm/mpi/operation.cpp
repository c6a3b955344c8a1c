#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

void Collective::start() {
  own_ = {number(), call()};
  constexpr int kBytes = sizeof(Greeting);
  const int right = (group().rank + 1) % group().size;
  greetings_.receive(&from_left_, kBytes, MPI_BYTE, left(), channel(kGreeting), 1);
  greetings_.send(&own_, kBytes, MPI_BYTE, right, channel(kGreeting), 0);
  begin();
}

bool Collective::advance() {
  greetings_.test([&](std::int64_t token, const MPI_Status&) {
    if (token == 0) return;
    compare_greeting();
    greeted_ = true;
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
  return transferred_ && greetings_.empty();
}

bool Collective::abandon() noexcept {
  const bool greetings_gone = greetings_.abandon();
  return Operation::abandon() && greetings_gone;
}

Channel Collective::channel(Purpose purpose) const noexcept {
  const std::int64_t numbers = group().most_tag / kPurposes;
  return {group().data, static_cast<int>(number() % numbers) * kPurposes + purpose};
}

void Collective::compare_greeting() const {
  if (from_left_.number != own_.number || from_left_.call != own_.call)
    throw mismatch(own_.number, group().rank, own_.call, left(), from_left_.call);
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
