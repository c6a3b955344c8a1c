// Communicator: what connects the ranks. A cheap handle; copies refer to the same group.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

enum class ReduceOp : std::uint8_t { sum, min, max };

/// In which order a sum over ranks is taken. `fastest`: whatever the transport does best; the same
/// bits on all ranks and in every run with the same sizes. `ranks`: rank 0 + rank 1 + ..., element
/// by element, whatever the size, offset or verb.
enum class SumOrder : std::uint8_t { fastest, ranks };

namespace detail {
class CommunicatorBackend;
class WorkState;
}  // namespace detail

/// An operation in flight. Destroying the handle neither waits nor cancels.
class LOCKSTEP_API Work {
 public:
  Work() = default;
  /// Waits until the result may be read: on the CPU by blocking, with the communicator's deadline;
  /// on a device by ordering the current stream after it. @throws CommunicationError naming the
  /// collective and the ranks that are missing.
  void wait();
  /// Whether wait() would return at once. Drives progress.
  bool done();
  explicit Work(std::shared_ptr<detail::WorkState> state) noexcept : state_(std::move(state)) {}

 private:
  std::shared_ptr<detail::WorkState> state_;
};

/// Every verb must be called by all ranks of the group in the same order. Local checks (shape,
/// dtype, rank) throw before anything is sent. After a CommunicationError the communicator is dead:
/// every further call throws it again.
class LOCKSTEP_API Communicator {
 public:
  /// The group of one: every verb completes at once, nothing is started.
  Communicator();

  int rank() const noexcept;
  int size() const noexcept;
  /// Collective. Groups the ranks by color, ordered by key and then rank; a negative color gives a
  /// group of one.
  Communicator split(int color, int key = 0) const;
  /// Collective. The same ranks with traffic of their own.
  Communicator duplicate() const;

  // Data plane: tensors on one device, ordered on its queue; the tensors stay alive until the work
  // is done.
  /// In place, over all ranks. min and max: float32, float64, int64, int32.
  Work all_reduce(Tensor values, ReduceOp op = ReduceOp::sum,
                  SumOrder order = SumOrder::fastest) const;
  /// input: size() parts of output's element count each; output: part rank() reduced over the
  /// ranks.
  Work reduce_scatter(const Tensor& input, Tensor output, ReduceOp op = ReduceOp::sum,
                      SumOrder order = SumOrder::fastest) const;
  /// output: size() parts of input's element count each, in rank order.
  Work all_gather(const Tensor& input, Tensor output) const;
  /// Part i of input goes to rank i; part i of output came from rank i.
  Work all_to_all(const Tensor& input, Tensor output) const;
  Work broadcast(Tensor values, int root) const;
  /// On GPUs, after the group's first collective there, messages between two ranks are matched in
  /// the order of the calls, whatever their tags, and one rank must send while the other receives.
  /// A message of before that collective is received before it too.
  Work send(const Tensor& values, int destination, int tag = 0) const;
  Work receive(Tensor values, int source, int tag = 0) const;

  // Control plane: host bytes, blocking, with the deadline.
  /// The bytes of every rank, in rank order; the lengths may differ.
  std::vector<std::string> gather_bytes(std::string_view own) const;
  /// True on all ranks if it was true on every one.
  bool agree(bool value) const;
  void barrier() const;

  // Control channel: short notices that whoever waits also reads.
  /// Moves operations in flight along and reads notices, without waiting. @throws
  /// CommunicationError
  void poll() const;
  /// Tells the other ranks why this one will not go on; their next wait throws the text. Does not
  /// block.
  void announce_failure(std::string_view text) const noexcept;
  /// Tells the other ranks that this one is done after so many steps; a rank that waits for it then
  /// throws.
  void announce_leave(std::int64_t after_step) const noexcept;
  /// The step that messages about late or missing ranks name.
  void set_step(std::int64_t step) const noexcept;

  std::chrono::milliseconds timeout() const noexcept;
  void set_timeout(std::chrono::milliseconds timeout) const noexcept;

  const std::shared_ptr<detail::CommunicatorBackend>& backend() const noexcept { return backend_; }
  explicit Communicator(std::shared_ptr<detail::CommunicatorBackend> backend) noexcept
      : backend_(std::move(backend)) {}

 private:
  std::shared_ptr<detail::CommunicatorBackend> backend_;
};

}  // namespace lockstep::inline v0
