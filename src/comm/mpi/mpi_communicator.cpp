#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <cstring>

#include <lockstep/core/error.hpp>
#include "comm/mpi/control_gather.hpp"
#include "comm/mpi/exchange.hpp"
#include "comm/mpi/fold_exchange.hpp"
#include "comm/mpi/followed.hpp"
#include "comm/mpi/library_reduce.hpp"
#include "comm/mpi/tree_broadcast.hpp"
#include "comm/self/self_communicator.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

class MpiWork final : public WorkState {
 public:
  MpiWork(std::shared_ptr<Engine> engine, std::shared_ptr<Operation> operation)
      : engine_(std::move(engine)), operation_(std::move(operation)) {}
  void wait() override { engine_->wait(*operation_); }
  bool done() override { return engine_->done(*operation_); }

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Operation> operation_;
};

Call make_call(Verb verb, const Span& span) {
  Call call;
  call.verb = verb;
  call.dtype = static_cast<std::int32_t>(span.dtype);
  call.count = span.count;
  return call;
}

struct Wish {  // of one rank in a split
  std::int32_t color;
  std::int32_t key;
};

}  // namespace

void MpiCommunicator::require_cpu(const Span& span, Verb verb) const {
  if (span.device.kind == DeviceKind::cpu) return;
  throw BackendUnavailable("[mpi] " + std::string(name(verb)) + " on rank " +
                           std::to_string(rank()) + ": the tensor is on " + to_string(span.device) +
                           ", and this communicator moves host memory; copy it with to(Device::"
                           "cpu())");
}

CommunicatorBackend::WorkPointer MpiCommunicator::submit(std::shared_ptr<Operation> operation) {
  engine_->submit(operation);
  if (operation->finished()) return nullptr;
  return std::make_shared<MpiWork>(engine_, std::move(operation));
}

CommunicatorBackend::WorkPointer MpiCommunicator::all_reduce(Span values, ReduceOp op,
                                                             SumOrder order, Keep keep) {
  require_cpu(values, Verb::all_reduce);
  Call call = make_call(Verb::all_reduce, values);
  call.op = static_cast<std::int32_t>(op);
  call.order = static_cast<std::int32_t>(order);
  // With two ranks the own exchange is both the fast one and the one in rank order.
  if (size() > 2 && order == SumOrder::fastest && LibraryReduce::suits(values.dtype, op))
    return submit(std::make_shared<LibraryReduce>(group_, call, values, std::move(keep)));
  return submit(std::make_shared<FoldExchange>(group_, call, values, values, std::move(keep)));
}

CommunicatorBackend::WorkPointer MpiCommunicator::reduce_scatter(Span input, Span output,
                                                                 ReduceOp op, SumOrder order,
                                                                 Keep keep) {
  require_cpu(input, Verb::reduce_scatter);
  Call call = make_call(Verb::reduce_scatter, input);
  call.op = static_cast<std::int32_t>(op);
  call.order = static_cast<std::int32_t>(order);
  return submit(std::make_shared<FoldExchange>(group_, call, input, output, std::move(keep)));
}

CommunicatorBackend::WorkPointer MpiCommunicator::all_gather(Span input, Span output, Keep keep) {
  require_cpu(input, Verb::all_gather);
  const Call call = make_call(Verb::all_gather, input);
  return submit(std::make_shared<DirectExchange>(group_, call, input, output, std::move(keep)));
}

CommunicatorBackend::WorkPointer MpiCommunicator::all_to_all(Span input, Span output, Keep keep) {
  require_cpu(input, Verb::all_to_all);
  const Call call = make_call(Verb::all_to_all, input);
  return submit(std::make_shared<DirectExchange>(group_, call, input, output, std::move(keep)));
}

CommunicatorBackend::WorkPointer MpiCommunicator::broadcast(Span values, int root, Keep keep) {
  require_cpu(values, Verb::broadcast);
  Call call = make_call(Verb::broadcast, values);
  call.peer = root;
  return submit(std::make_shared<TreeBroadcast>(group_, call, values, std::move(keep)));
}

CommunicatorBackend::WorkPointer MpiCommunicator::send(Span values, int destination, int tag,
                                                       Keep keep) {
  require_cpu(values, Verb::send);
  Call call = make_call(Verb::send, values);
  call.peer = destination;
  call.tag = tag;
  return submit(std::make_shared<Message>(group_, call, values, std::move(keep)));
}

CommunicatorBackend::WorkPointer MpiCommunicator::receive(Span values, int source, int tag,
                                                          Keep keep) {
  require_cpu(values, Verb::receive);
  Call call = make_call(Verb::receive, values);
  call.peer = source;
  call.tag = tag;
  return submit(std::make_shared<Message>(group_, call, values, std::move(keep)));
}

CommunicatorBackend::WorkPointer MpiCommunicator::follow(const Call& call,
                                                         std::shared_ptr<Task> task) {
  auto operation = std::make_shared<Followed>(group_, call, std::move(task));
  engine_->submit(operation);
  return std::make_shared<MpiWork>(engine_, std::move(operation));
}

std::vector<std::string> MpiCommunicator::gather(Verb verb, std::string_view own) {
  Call call;
  call.verb = verb;
  const auto operation = std::make_shared<ControlGather>(group_, call, own);
  engine_->submit(operation);
  engine_->wait(*operation);
  return operation->take_bytes();
}

std::vector<std::string> MpiCommunicator::gather_bytes(std::string_view own) {
  return gather(Verb::gather_bytes, own);
}

bool MpiCommunicator::agree(bool value) {
  const auto all = gather(Verb::agree, value ? "1" : "0");
  return std::all_of(all.begin(), all.end(), [](const auto& text) { return text == "1"; });
}

void MpiCommunicator::barrier() { gather(Verb::barrier, {}); }

void MpiCommunicator::close() {
  if (engine_->closed()) return;
  // The second one makes sure that no notice of the first is still to be sent.
  gather(Verb::close, {});
  engine_->set_closing();
  gather(Verb::close, {});
  engine_->close();
}

std::shared_ptr<CommunicatorBackend> MpiCommunicator::alone() const {
  return std::make_shared<SelfCommunicator>(timeout());
}

std::shared_ptr<CommunicatorBackend> MpiCommunicator::derive(MPI_Comm parent, std::uint64_t id,
                                                             std::vector<int> family_ranks) {
  try {
    return std::make_shared<MpiCommunicator>(
        engine_, make_group(parent, id, std::move(family_ranks), timeout()));
  } catch (const CallFailed& failure) {
    engine_->break_group(*group_, {"[mpi] new communicator on rank " + std::to_string(rank()) +
                                       ": " + to_string(failure),
                                   -1, failure.code});
  } catch (const CommunicationError& error) {
    engine_->break_group(*group_, {error.what(), error.rank(), error.code()});
  }
}

std::shared_ptr<CommunicatorBackend> MpiCommunicator::duplicate() {
  // A rank that is missing is a deadline here, not a hang in MPI.
  engine_->free_retired(gather(Verb::duplicate, engine_->retired()));
  const std::uint64_t id = child_id(*group_, 0);
  ++group_->children;
  return derive(group_->control, id, group_->family_ranks);
}

std::shared_ptr<CommunicatorBackend> MpiCommunicator::split(int color, int key) {
  const Wish own{color, key};
  std::string bytes(sizeof own, '\0');
  std::memcpy(bytes.data(), &own, sizeof own);
  const auto all = gather(Verb::split, bytes + engine_->retired());
  const std::uint64_t id = child_id(*group_, std::int64_t{color} + 1);
  ++group_->children;

  std::vector<std::pair<int, int>> members;  // key and rank of this color
  bool groups_of_several = false;            // among all colors
  std::vector<int> colors;
  for (int other = 0; other < size(); ++other) {
    Wish wish{};
    std::memcpy(&wish, all[static_cast<std::size_t>(other)].data(), sizeof wish);
    if (wish.color < 0) continue;
    groups_of_several |= std::find(colors.begin(), colors.end(), wish.color) != colors.end();
    colors.push_back(wish.color);
    if (wish.color == color) members.emplace_back(wish.key, other);
  }
  std::vector<std::string> retired;
  for (const std::string& other : all) retired.push_back(other.substr(sizeof own));
  engine_->free_retired(retired);
  if (!groups_of_several) return alone();
  MPI_Comm part = MPI_COMM_NULL;
  const bool several = members.size() > 1;
  if (const int code = MPI_Comm_split(group_->control, several ? color : MPI_UNDEFINED, key, &part);
      code != MPI_SUCCESS)
    engine_->break_group(*group_, {"[mpi] split on rank " + std::to_string(rank()) + ": " +
                                       to_string(CallFailed{"MPI_Comm_split", code}),
                                   -1, code});
  if (!several) return alone();
  std::sort(members.begin(), members.end());
  std::vector<int> family_ranks;
  for (const auto& member : members)
    family_ranks.push_back(group_->family_ranks[static_cast<std::size_t>(member.second)]);
  auto result = derive(part, id, std::move(family_ranks));
  MPI_Comm_free(&part);
  return result;
}

void MpiCommunicator::announce_failure(std::string_view text) noexcept {
  engine_->announce(*group_, NoticeKind::failed, -1, text);
}

void MpiCommunicator::announce_leave(std::int64_t after_step) noexcept {
  engine_->announce(*group_, NoticeKind::left, after_step, {});
}

}  // namespace lockstep::inline v0::detail::mpi
