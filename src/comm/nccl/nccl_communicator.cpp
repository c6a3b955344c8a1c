#include "comm/nccl/nccl_communicator.hpp"

#include <cstring>
#include <functional>
#include <string_view>

#include <lockstep/core/create.hpp>
#include "backend/backend.hpp"
#include "backend/capture.hpp"
#include "backend/stream_watch.hpp"
#include "comm/nccl/abort.hpp"
#include "comm/nccl/given_up.hpp"
#include "comm/nccl/monitor.hpp"
#include "comm/nccl/rank_order.hpp"

namespace lockstep::inline v0::detail {
namespace nccl {
namespace {

class ConnectTask final : public Task {
 public:
  explicit ConnectTask(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  const char* transport() const noexcept override { return "nccl"; }
  bool finished() override { return link_->connected(); }
  void abandon() noexcept override { link_->abandon(); }

 private:
  std::shared_ptr<Link> link_;
};

class FlightTask final : public Task {
 public:
  FlightTask(std::shared_ptr<Link> link, std::shared_ptr<Flight> flight)
      : link_(std::move(link)), flight_(std::move(flight)) {}
  const char* transport() const noexcept override { return "nccl"; }
  bool finished() override { return link_->finished(*flight_); }
  void abandon() noexcept override { link_->abandon(); }

 private:
  std::shared_ptr<Link> link_;
  std::shared_ptr<Flight> flight_;
};

class NcclWork final : public WorkState {
 public:
  NcclWork(std::shared_ptr<Link> link, std::shared_ptr<Flight> flight,
           std::shared_ptr<WorkState> followed, std::shared_ptr<Followers> followers)
      : link_(std::move(link)),
        flight_(std::move(flight)),
        followed_(std::move(followed)),
        followers_(std::move(followers)) {}

  void wait() override {
    const Device device = Device::cuda(link_->identity().device);
    const auto compute = static_cast<cudaStream_t>(backend::current_queue(device).stream);
    if (!link_->order(*flight_, compute))
      telling(*followers_, [&] { followed_->wait(); });  // which throws
    link_->release_kept();
  }

  bool done() override {
    bool done = false;
    telling(*followers_, [&] { done = followed_->done(); });
    link_->release_kept();
    return done;
  }

 private:
  std::shared_ptr<Link> link_;
  std::shared_ptr<Flight> flight_;
  std::shared_ptr<WorkState> followed_;
  std::shared_ptr<Followers> followers_;
};

Call make_call(Verb verb, const Span& span) {
  Call call;
  call.verb = verb;
  call.dtype = static_cast<std::int32_t>(span.dtype);
  call.count = span.count;
  return call;
}

Call make_call(Verb verb, const Span& span, ReduceOp op, SumOrder order) {
  Call call = make_call(verb, span);
  call.op = static_cast<std::int32_t>(op);
  call.order = static_cast<std::int32_t>(order);
  return call;
}

Call make_call(Verb verb, const Span& span, int peer, int tag = 0) {
  Call call = make_call(verb, span);
  call.peer = peer;
  call.tag = tag;
  return call;
}

std::size_t count_of(const Span& span) { return static_cast<std::size_t>(span.count); }

/// Rank 0 makes the id; the control plane brings it to the others, which are then all here. Or it
/// brings why there is none.
ncclUniqueId share_id(CommunicatorBackend& host) {
  ncclUniqueId id{};
  std::string own;
  if (host.rank() == 0) {
    const ncclResult_t result = ncclGetUniqueId(&id);
    own = static_cast<char>(result);
    if (result == ncclSuccess)
      own.append(reinterpret_cast<const char*>(&id), sizeof id);
    else
      own += to_string(failed(result, nullptr)) + interface_text();
  }
  const std::string all = host.gather_bytes(own)[0];
  host.barrier();
  const int result = all[0];
  const std::string_view rest = std::string_view(all).substr(1);
  if (result != ncclSuccess)
    throw CommunicationError("[nccl] connect: rank 0 could not make an id: " + std::string(rest), 0,
                             result);
  std::memcpy(&id, rest.data(), sizeof id);
  return id;
}

}  // namespace

NcclCommunicator::NcclCommunicator(const PlaneContext& context)
    : context_(context), rank_(context.host->rank()), size_(context.host->size()) {
  release_given_up();
  const ncclUniqueId id = share_id(*context.host);
  id_ = std::hash<std::string_view>{}({id.internal, sizeof id.internal}) | 1U;  // never 0
  link_ = std::make_shared<Link>(Link::Identity{context.device.index, rank_, size_}, id,
                                 context.timeout_ms);
  Call call;
  call.verb = Verb::connect;
  context_.host->follow(call, std::make_shared<ConnectTask>(link_))->wait();
  followers_ = std::make_shared<Followers>(link_);
  watch_ = backend::register_watch([followers = followers_] { followers->check(); });
  watch(link_);
}

NcclCommunicator::~NcclCommunicator() {
  backend::unregister_watch(watch_);
  unwatch(*link_);
}

void NcclCommunicator::park() noexcept { context_.host.reset(); }

std::string NcclCommunicator::place(const Call& call) const {
  std::string text = to_string(call);
  if (const std::int64_t step = *context_.step; step >= 0)
    text += " at step " + std::to_string(step);
  return text + " on rank " + std::to_string(rank_);
}

CommunicatorBackend::WorkPointer NcclCommunicator::launch(const Call& call, Keep keep,
                                                          const Enqueue& enqueue) {
  link_->release_kept();
  const auto compute = static_cast<cudaStream_t>(backend::current_queue(context_.device).stream);
  record(call, keep);
  auto flight = std::make_shared<Flight>(place(call), std::move(keep));
  // Counted before it is launched: a rank that says that it waits for this one must be understood.
  std::shared_ptr<WorkState> followed;
  telling(*followers_, [&] {
    followed = context_.host->follow(call, std::make_shared<FlightTask>(link_, flight));
    link_->launch(flight, compute, [&](Launcher& launcher) {
      if (call.count > 0) enqueue(launcher);
    });
    (void)followed->done();  // throws what went wrong, and tells the others
  });
  followers_->add(flight, followed);
  wake_monitor();
  return std::make_shared<NcclWork>(link_, std::move(flight), std::move(followed), followers_);
}

void NcclCommunicator::record(const Call& call, const Keep& keep) {
  backend::Capture* const capture = backend::current_capture();
  if (capture == nullptr) return;
  capture->keep(std::make_shared<Keep>(keep));
  capture->keep(link_->recording_token());
  capture->before_each_time([link = link_, weak = weak_from_this(), call] {
    link->require_alive();
    const auto self = weak.lock();
    if (!self || !self->context_.host)
      throw InvalidUsage("[nccl] a captured step cannot be replayed: the communicator of its " +
                         to_string(call) + " is gone");
    self->context_.host->poll();  // throws what other ranks said
  });
  capture->after_each_time([weak = weak_from_this(), call] {
    if (const auto self = weak.lock()) self->follow_replay(call);
  });
}

void NcclCommunicator::follow_replay(const Call& call) {
  const auto host = context_.host;
  if (!host) return;  // the last handle is gone
  const auto compute = static_cast<cudaStream_t>(backend::current_queue(context_.device).stream);
  auto flight = std::make_shared<Flight>(place(call), Keep{});
  telling(*followers_, [&] {
    auto followed = host->follow(call, std::make_shared<FlightTask>(link_, flight));
    link_->replayed(flight, compute);
    (void)followed->done();
    followers_->add(flight, std::move(followed));
  });
  wake_monitor();
}

// Two ranks have one order of a sum. NCCL's minimum and maximum let a NaN go.
bool NcclCommunicator::folds(const Call& call) const noexcept {
  const auto dtype = static_cast<DType>(call.dtype);
  if (static_cast<ReduceOp>(call.op) != ReduceOp::sum)
    return dtype == DType::float32 || dtype == DType::float64;
  return static_cast<SumOrder>(call.order) == SumOrder::ranks && size_ > 2;
}

CommunicatorBackend::WorkPointer NcclCommunicator::launch_in_rank_order(const Call& call,
                                                                        Span input, Span output,
                                                                        Keep keep) {
  const RankOrder exchange(rank_, size_, input, output, static_cast<ReduceOp>(call.op),
                           call.verb == Verb::all_reduce);
  // From the queue that the collective comes behind, and kept until its end.
  Tensor scratch = empty({exchange.scratch_count()}, input.dtype, input.device);
  void* const data = scratch.mutable_raw_data();
  keep.push_back(std::move(scratch));
  return launch(call, std::move(keep),
                [&](Launcher& launcher) { exchange.enqueue(launcher, data); });
}

CommunicatorBackend::WorkPointer NcclCommunicator::all_reduce(Span values, ReduceOp op,
                                                              SumOrder order, Keep keep) {
  const Call call = make_call(Verb::all_reduce, values, op, order);
  if (folds(call)) return launch_in_rank_order(call, values, values, std::move(keep));
  return launch(call, std::move(keep), [&](Launcher& launcher) {
    launcher.run([&](ncclComm_t communicator) {
      return ncclAllReduce(values.data, values.data, count_of(values), datatype(values.dtype),
                           operation(op), communicator, launcher.stream());
    });
  });
}

CommunicatorBackend::WorkPointer NcclCommunicator::reduce_scatter(Span input, Span output,
                                                                  ReduceOp op, SumOrder order,
                                                                  Keep keep) {
  const Call call = make_call(Verb::reduce_scatter, input, op, order);
  if (folds(call)) return launch_in_rank_order(call, input, output, std::move(keep));
  return launch(call, std::move(keep), [&](Launcher& launcher) {
    launcher.run([&](ncclComm_t communicator) {
      return ncclReduceScatter(input.data, output.data, count_of(output), datatype(input.dtype),
                               operation(op), communicator, launcher.stream());
    });
  });
}

CommunicatorBackend::WorkPointer NcclCommunicator::all_gather(Span input, Span output, Keep keep) {
  const Call call = make_call(Verb::all_gather, input);
  return launch(call, std::move(keep), [&](Launcher& launcher) {
    launcher.run([&](ncclComm_t communicator) {
      return ncclAllGather(input.data, output.data, count_of(input), datatype(input.dtype),
                           communicator, launcher.stream());
    });
  });
}

CommunicatorBackend::WorkPointer NcclCommunicator::all_to_all(Span input, Span output, Keep keep) {
  const Call call = make_call(Verb::all_to_all, input);
  const std::int64_t part = input.count / size_;
  const std::int64_t part_bytes = part * byte_size(input.dtype);
  const auto in = [&](int rank) { return static_cast<char*>(input.data) + rank * part_bytes; };
  const auto out = [&](int rank) { return static_cast<char*>(output.data) + rank * part_bytes; };
  return launch(call, std::move(keep), [&](Launcher& launcher) {
    check(cudaMemcpyAsync(out(rank_), in(rank_), static_cast<std::size_t>(part_bytes),
                          cudaMemcpyDeviceToDevice, launcher.stream()),
          "cudaMemcpyAsync");
    launcher.run_group([&](ncclComm_t communicator) {
      ncclResult_t result = ncclSuccess;
      for (int step = 1; step < size_ && result == ncclSuccess; ++step) {
        const int to = (rank_ + step) % size_;
        const int from = (rank_ + size_ - step) % size_;
        result = ncclSend(in(to), static_cast<std::size_t>(part), datatype(input.dtype), to,
                          communicator, launcher.stream());
        if (result == ncclSuccess)
          result = ncclRecv(out(from), static_cast<std::size_t>(part), datatype(input.dtype), from,
                            communicator, launcher.stream());
      }
      return result;
    });
  });
}

CommunicatorBackend::WorkPointer NcclCommunicator::broadcast(Span values, int root, Keep keep) {
  const Call call = make_call(Verb::broadcast, values, root);
  return launch(call, std::move(keep), [&](Launcher& launcher) {
    launcher.run([&](ncclComm_t communicator) {
      return ncclBroadcast(values.data, values.data, count_of(values), datatype(values.dtype), root,
                           communicator, launcher.stream());
    });
  });
}

CommunicatorBackend::WorkPointer NcclCommunicator::send(Span values, int destination, int tag,
                                                        Keep keep) {
  const Call call = make_call(Verb::send, values, destination, tag);
  return launch(call, std::move(keep), [&](Launcher& launcher) {
    launcher.run([&](ncclComm_t communicator) {
      return ncclSend(values.data, count_of(values), datatype(values.dtype), destination,
                      communicator, launcher.stream());
    });
  });
}

CommunicatorBackend::WorkPointer NcclCommunicator::receive(Span values, int source, int tag,
                                                           Keep keep) {
  const Call call = make_call(Verb::receive, values, source, tag);
  return launch(call, std::move(keep), [&](Launcher& launcher) {
    launcher.run([&](ncclComm_t communicator) {
      return ncclRecv(values.data, count_of(values), datatype(values.dtype), source, communicator,
                      launcher.stream());
    });
  });
}

}  // namespace nccl

std::shared_ptr<DevicePlane> make_nccl_communicator(const PlaneContext& context) {
  return std::make_shared<nccl::NcclCommunicator>(context);
}

void wait_for_nccl_aborts(std::chrono::milliseconds longest) noexcept {
  nccl::wait_for_aborts(longest);
}

std::string nccl_version() {
  int code = 0;
  if (ncclGetVersion(&code) != ncclSuccess) return "NCCL";
  return "NCCL " + std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

}  // namespace lockstep::inline v0::detail
