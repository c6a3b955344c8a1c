// The seam to what connects: raw memory, counts and dtypes. Implementations: self, mpi (and nccl).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/comm/communicator.hpp>

namespace lockstep::inline v0::detail {

/// Something in flight. Holds what must stay alive.
class WorkState {
 public:
  virtual ~WorkState() = default;
  virtual void wait() = 0;
  virtual bool done() = 0;
};

/// Memory of an operation.
struct Span {
  void* data = nullptr;
  std::int64_t count = 0;  // elements
  DType dtype = DType::float32;
  Device device;
};

/// include/lockstep/comm/communicator.hpp says what each verb means. Arguments have been checked.
/// `keep` holds the tensors. A null work means that the call is complete.
class DataPlane {
 public:
  using WorkPointer = std::shared_ptr<WorkState>;
  using Keep = std::vector<Tensor>;

  virtual ~DataPlane() = default;
  virtual WorkPointer all_reduce(Span values, ReduceOp op, SumOrder order, Keep keep) = 0;
  virtual WorkPointer reduce_scatter(Span input, Span output, ReduceOp op, SumOrder order,
                                     Keep keep) = 0;
  virtual WorkPointer all_gather(Span input, Span output, Keep keep) = 0;
  virtual WorkPointer all_to_all(Span input, Span output, Keep keep) = 0;
  virtual WorkPointer broadcast(Span values, int root, Keep keep) = 0;
  virtual WorkPointer send(Span values, int destination, int tag, Keep keep) = 0;
  virtual WorkPointer receive(Span values, int source, int tag, Keep keep) = 0;
};

struct Call;

/// A call of the data plane that another library carries out. All of it may be called on any thread
/// of this process, and holds up everything else on the communicator while it runs.
class Task {
 public:
  virtual ~Task() = default;
  /// "nccl"; for messages.
  virtual const char* transport() const noexcept = 0;
  /// Whether it is complete; does not wait. @throws CommunicationError if it never will be
  virtual bool finished() = 0;
  /// The communicator is dead: ends what is in flight. May come several times.
  virtual void abandon() noexcept = 0;
};

class CommunicatorBackend : public DataPlane {
 public:
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual std::shared_ptr<CommunicatorBackend> split(int color, int key) = 0;
  virtual std::shared_ptr<CommunicatorBackend> duplicate() = 0;

  /// Counts `call` among the collectives of this communicator, and watches it like one of its own
  /// until the task is finished: deadline, ranks that failed, left, or called something else. Work
  /// of it waits on the host. @throws CommunicationError if the communicator is dead
  virtual WorkPointer follow(const Call& call, std::shared_ptr<Task> task);
  /// Memory that many collectives will use, where the transport has a faster way for such. Until
  /// the communicator ends, or until the memory is given back by forget_memory.
  virtual void register_memory(Device, void* /*data*/, std::int64_t /*byte_count*/) {}
  virtual void forget_memory(Device, void* /*data*/) noexcept {}

  virtual std::vector<std::string> gather_bytes(std::string_view own) = 0;
  virtual bool agree(bool value) = 0;
  virtual void barrier() = 0;
  /// Collective: waits until all ranks are here, then releases. Every later call on this
  /// communicator, or on one that came from it, throws InvalidUsage.
  virtual void close() = 0;

  virtual void poll() = 0;
  virtual void announce_failure(std::string_view text) noexcept = 0;
  virtual void announce_leave(std::int64_t after_step) noexcept = 0;
  virtual void set_step(std::int64_t step) noexcept = 0;
  virtual std::chrono::milliseconds timeout() const noexcept = 0;
  virtual void set_timeout(std::chrono::milliseconds timeout) noexcept = 0;
};

}  // namespace lockstep::inline v0::detail
