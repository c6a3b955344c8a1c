// The data plane for one CUDA device over NCCL.
#pragma once

#include <memory>

#include "comm/call.hpp"
#include "comm/device_plane.hpp"
#include "comm/nccl/followers.hpp"
#include "comm/nccl/link.hpp"

namespace lockstep::inline v0::detail::nccl {

class NcclCommunicator final : public DevicePlane,
                               public std::enable_shared_from_this<NcclCommunicator> {
 public:
  /// Collective.
  explicit NcclCommunicator(const PlaneContext& context);
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  WorkPointer all_reduce(Span values, ReduceOp op, SumOrder order, Keep keep) override;
  WorkPointer reduce_scatter(Span input, Span output, ReduceOp op, SumOrder order,
                             Keep keep) override;
  WorkPointer all_gather(Span input, Span output, Keep keep) override;
  WorkPointer all_to_all(Span input, Span output, Keep keep) override;
  WorkPointer broadcast(Span values, int root, Keep keep) override;
  /// NCCL knows no tags: messages between two ranks are matched in the order of the calls.
  WorkPointer send(Span values, int destination, int tag, Keep keep) override;
  WorkPointer receive(Span values, int source, int tag, Keep keep) override;

  void register_memory(void* data, std::int64_t byte_count) override {
    link_->register_memory(data, byte_count);
  }
  void forget_memory(void* data) noexcept override { link_->forget_memory(data); }
  std::uint64_t id() const noexcept override { return id_; }
  bool idle() noexcept override { return !link_->look() && !link_->is_recorded(); }
  bool is_recorded() const noexcept override { return link_->is_recorded(); }
  void park() noexcept override;
  void begin_close() override { link_->begin_close(); }
  void finish_close(const std::function<void()>& poll) override { link_->finish_close(poll); }
  void require_alive() override { link_->require_alive(); }

 private:
  using Enqueue = std::function<void(Launcher&)>;

  WorkPointer launch(const Call& call, Keep keep, const Enqueue& enqueue);
  WorkPointer launch_in_rank_order(const Call& call, Span input, Span output, Keep keep);
  /// For a graph that this thread captures: each launch of it is a collective as well.
  void record(const Call& call, const Keep& keep);
  void follow_replay(const Call& call);
  bool folds(const Call& call) const noexcept;
  std::string place(const Call& call) const;

  PlaneContext context_;
  int rank_;
  int size_;
  std::uint64_t id_ = 0;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Followers> followers_;
  int watch_ = -1;
};

}  // namespace lockstep::inline v0::detail::nccl
