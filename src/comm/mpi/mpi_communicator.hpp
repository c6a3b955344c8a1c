// The communicator over MPI.
#pragma once

#include <memory>

#include "comm/communicator_backend.hpp"
#include "comm/mpi/engine.hpp"

namespace lockstep::inline v0::detail::mpi {

class MpiCommunicator final : public CommunicatorBackend {
 public:
  MpiCommunicator(std::shared_ptr<Engine> engine, std::shared_ptr<Group> group)
      : engine_(std::move(engine)), group_(std::move(group)) {
    engine_->add(group_);
  }
  ~MpiCommunicator() override { engine_->retire(*group_); }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const noexcept override { return group_->rank; }
  int size() const noexcept override { return group_->size; }
  std::shared_ptr<CommunicatorBackend> split(int color, int key) override;
  std::shared_ptr<CommunicatorBackend> duplicate() override;

  WorkPointer all_reduce(Span values, ReduceOp op, SumOrder order, Keep keep) override;
  WorkPointer reduce_scatter(Span input, Span output, ReduceOp op, SumOrder order,
                             Keep keep) override;
  WorkPointer all_gather(Span input, Span output, Keep keep) override;
  WorkPointer all_to_all(Span input, Span output, Keep keep) override;
  WorkPointer broadcast(Span values, int root, Keep keep) override;
  WorkPointer send(Span values, int destination, int tag, Keep keep) override;
  WorkPointer receive(Span values, int source, int tag, Keep keep) override;

  WorkPointer follow(const Call& call, std::shared_ptr<Task> task) override;

  std::vector<std::string> gather_bytes(std::string_view own) override;
  bool agree(bool value) override;
  void barrier() override;
  void close() override;

  void poll() override { engine_->poll(*group_); }
  void announce_failure(std::string_view text) noexcept override;
  void announce_leave(std::int64_t after_step) noexcept override;
  void set_step(std::int64_t step) noexcept override { engine_->set_step(*group_, step); }
  std::chrono::milliseconds timeout() const noexcept override {
    return std::chrono::milliseconds{group_->timeout_ms};
  }
  void set_timeout(std::chrono::milliseconds timeout) noexcept override {
    group_->timeout_ms = timeout.count();
  }

 private:
  WorkPointer submit(std::shared_ptr<Operation> operation);
  void require_cpu(const Span& span, Verb verb) const;
  /// One call of the control plane.
  std::vector<std::string> gather(Verb verb, std::string_view own);
  std::shared_ptr<CommunicatorBackend> derive(MPI_Comm parent, std::uint64_t id,
                                              std::vector<int> family_ranks);
  std::shared_ptr<CommunicatorBackend> alone() const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Group> group_;
};

}  // namespace lockstep::inline v0::detail::mpi
