// The group of one: nothing is sent, so every verb completes at once.
#pragma once

#include <atomic>
#include <memory>

#include "comm/communicator_backend.hpp"

namespace lockstep::inline v0::detail {

class SelfCommunicator final : public CommunicatorBackend {
 public:
  explicit SelfCommunicator(std::chrono::milliseconds timeout)
      : SelfCommunicator(timeout, std::make_shared<std::atomic<bool>>(false)) {}

  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
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

  std::vector<std::string> gather_bytes(std::string_view own) override;
  bool agree(bool value) override;
  void barrier() override;
  void close() override;

  void poll() override {}
  void announce_failure(std::string_view) noexcept override {}
  void announce_leave(std::int64_t) noexcept override {}
  void set_step(std::int64_t) noexcept override {}
  std::chrono::milliseconds timeout() const noexcept override {
    return std::chrono::milliseconds{timeout_ms_};
  }
  void set_timeout(std::chrono::milliseconds timeout) noexcept override {
    timeout_ms_ = timeout.count();
  }

 private:
  SelfCommunicator(std::chrono::milliseconds timeout, std::shared_ptr<std::atomic<bool>> closed)
      : timeout_ms_(timeout.count()), closed_(std::move(closed)) {}
  std::shared_ptr<CommunicatorBackend> derive() const;
  void check_open(const char* verb) const;

  std::atomic<std::int64_t> timeout_ms_;
  std::shared_ptr<std::atomic<bool>> closed_;  // shared with what was split off
};

}  // namespace lockstep::inline v0::detail
