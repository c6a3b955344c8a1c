// An operation in flight: a small state machine over nonblocking MPI calls, moved along by whoever
// has the engine's lock.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "comm/mpi/group.hpp"
#include "comm/mpi/pause.hpp"
#include "comm/mpi/requests.hpp"

namespace lockstep::inline v0::detail::mpi {

class Operation {
 public:
  Operation(std::shared_ptr<Group> group, const Call& call, std::vector<Tensor> keep)
      : group_(std::move(group)), call_(call), keep_(std::move(keep)) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Posts what can be posted at once. @throws CallFailed, Failure
  virtual void start() = 0;
  /// Moves along without waiting; true when complete. @throws CallFailed, Failure
  virtual bool advance() = 0;
  /// Whether it still waits for something of that rank.
  virtual bool needs(int rank) const { return requests_.pending(rank); }
  /// Whether it needs such a rank until its end, and not only its call.
  virtual bool needs_to_the_end() const { return false; }
  /// Whether it is known from messages of the operation itself that the rank made this call.
  virtual bool heard_of(int) const { return false; }
  /// Who carries it out; for messages.
  virtual const char* transport() const noexcept { return "mpi"; }
  /// Takes back what can be taken back; false if MPI may still use its memory.
  virtual bool abandon() noexcept { return requests_.abandon(); }

  /// Grows whenever something was sent or received.
  std::int64_t movement() const noexcept { return requests_.completed(); }

  Group& group() const noexcept { return *group_; }
  const Call& call() const noexcept { return call_; }
  /// Among the calls of its plane on this group; -1 for messages of the user.
  std::int64_t number() const noexcept { return number_; }
  void set_number(std::int64_t number) noexcept { number_ = number; }

  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  void set_finished() {
    keep_.clear();
    finished_.store(true, std::memory_order_release);
  }

  /// When those who wait for it next tell the others so.
  Clock::time_point next_telling{};
  /// Since when done() has been asked without a long break, and when last.
  Clock::time_point asked_since{}, asked_last{};

 protected:
  Requests requests_;

 private:
  std::shared_ptr<Group> group_;
  Call call_;
  std::vector<Tensor> keep_;
  std::int64_t number_ = -1;
  std::atomic<bool> finished_ = false;
};

/// A collective of the data plane. Ahead of the data each rank sends its right neighbour, or
/// everyone, what it calls, so ranks that do not call the same are found out before anything is
/// returned.
class Collective : public Operation {
 public:
  enum class Greets { neighbour, everyone };

  Collective(std::shared_ptr<Group> group, const Call& call, std::vector<Tensor> keep,
             Greets greets = Greets::neighbour);

  void start() final;
  bool advance() final;
  bool abandon() noexcept override;
  bool heard_of(int rank) const override { return heard_[static_cast<std::size_t>(rank)]; }

 protected:
  enum Purpose { kGreeting, kFirst, kSecond, kPurposes };

  virtual void begin() = 0;
  /// As advance(), for the data alone.
  virtual bool transfer() = 0;
  /// Whether all greetings have come.
  bool greeted() const noexcept { return greetings_awaited_ == 0; }
  /// A message of this rank came, so it makes this call.
  void hear_of(int rank) { heard_[static_cast<std::size_t>(rank)] = true; }
  /// Traffic of this operation; messages of one purpose between two ranks keep their order.
  Channel channel(Purpose purpose) const noexcept;

 private:
  struct Greeting {
    std::int64_t number;
    Call call;
  };

  void compare_greeting(int rank) const;
  void check_truncated();

  int greetings_awaited_;
  Greeting own_{};
  std::vector<Greeting> greetings_;  // by distance to the left
  std::vector<bool> heard_;          // by rank
  Requests greeting_requests_;
  bool transferred_ = false;
  // Set when a message was longer than asked for: the greeting, or another rank, will say why.
  Clock::time_point truncated_since_{};
};

/// What ranks call at one number must agree.
Failure mismatch(std::int64_t number, int rank, const Call& call, int other, const Call& theirs);

}  // namespace lockstep::inline v0::detail::mpi
