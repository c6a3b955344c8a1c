// Exchanges without arithmetic: each message goes straight to where it belongs.
#pragma once

#include "comm/communicator_backend.hpp"
#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

/// all_gather and all_to_all: every rank sends one part to every other rank.
class DirectExchange final : public Collective {
 public:
  DirectExchange(std::shared_ptr<Group> group, const Call& call, Span input, Span output,
                 std::vector<Tensor> keep);

 private:
  void begin() override;
  bool transfer() override;

  Span input_;
  Span output_;
  std::int64_t part_count_;  // elements that go from one rank to one other
};

/// send and receive of the user.
class Message final : public Operation {
 public:
  Message(std::shared_ptr<Group> group, const Call& call, Span values, std::vector<Tensor> keep)
      : Operation(std::move(group), call, std::move(keep)), values_(values) {}

  void start() override;
  bool advance() override;

 private:
  void check_size(std::int64_t part, const MPI_Status& status) const;

  Span values_;
};

}  // namespace lockstep::inline v0::detail::mpi
