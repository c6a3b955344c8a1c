// NCCL's collectives, messages and groups: each adds to a plan, which is carried out by a stream.
#include <algorithm>
#include <utility>

#include "emulation/nccl/arithmetic.hpp"
#include "emulation/nccl/exchange.hpp"

namespace {

using namespace emulation::nccl;

struct Pending {
  std::shared_ptr<Communicator> communicator;
  cudaStream_t stream;
  std::shared_ptr<Plan> plan;
};

/// What this thread has called since ncclGroupStart.
struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Pending> pending;
};

Group& group() {
  thread_local Group instance;
  return instance;
}

Plan& plan_for(ncclComm_t comm, cudaStream_t stream) {
  auto& pending = group().pending;
  const auto found = std::find_if(pending.begin(), pending.end(), [&](const Pending& other) {
    return other.communicator == comm->state && other.stream == stream;
  });
  if (found != pending.end()) return *found->plan;
  pending.push_back({comm->state, stream, std::make_shared<Plan>()});
  return *pending.back().plan;
}

ncclResult_t end_group() {
  Group& own = group();
  if (--own.depth > 0) return ncclSuccess;
  std::vector<Pending> pending;
  pending.swap(own.pending);
  ncclResult_t result = std::exchange(own.error, ncclSuccess);
  if (result != ncclSuccess) return result;  // nothing of a group with an error is done
  for (Pending& part : pending) {
    auto operation = std::make_unique<Exchange>(part.communicator, part.plan);
    const ncclResult_t launched =
        launch(*part.communicator, part.stream, std::move(operation), part.plan->calls);
    if (launched != ncclSuccess && result == ncclSuccess) result = launched;
  }
  return result;
}

struct Buffers {
  const void* from;
  std::size_t from_count;
  void* to;
  std::size_t to_count;
};

bool on_device(const void* memory, std::size_t byte_count) {
  return byte_count == 0 || emulation::is_device_memory(memory, byte_count);
}

/// The frame of each call: a group of one, if it is in none.
template <class AddTo>
ncclResult_t call(const char* name, ncclComm_t comm, cudaStream_t stream, ncclDataType_t type,
                  const Buffers& buffers, AddTo add_to) {
  if (const auto error = emulation::count_call(name)) {
    // A communicator that does not block remembers what a call was refused for.
    if (comm != nullptr && !comm->state->blocking) comm->state->error = *error;
    return static_cast<ncclResult_t>(*error);
  }
  const std::size_t size = size_of(type);
  if (comm == nullptr || size == 0 || !on_device(buffers.from, buffers.from_count * size) ||
      !on_device(buffers.to, buffers.to_count * size)) {
    if (group().depth > 0) group().error = ncclInvalidArgument;
    return ncclInvalidArgument;
  }
  ++group().depth;
  if (buffers.from_count + buffers.to_count > 0) {
    Plan& plan = plan_for(comm, stream);
    ++plan.calls;
    add_to(plan, *comm->state, size);
  }
  return end_group();
}

void* part(const void* memory, std::size_t index, std::size_t byte_count) {
  return static_cast<char*>(const_cast<void*>(memory)) + index * byte_count;
}

/// Sends part `i` of `from`, or all of it, to each other rank, and gets a row from each.
void add_reduction(Plan& plan, const Communicator& communicator, const Header& header,
                   const void* from, void* to, bool parts) {
  const auto type = static_cast<ncclDataType_t>(header.type);
  const std::size_t byte_count = header.count * size_of(type);
  const auto rank = static_cast<std::size_t>(communicator.rank);
  plan.reductions.push_back({type, static_cast<ncclRedOp_t>(header.op), header.count,
                             parts ? part(from, rank, byte_count) : from, plan.scratch_bytes, to});
  for (int peer = 0; peer < communicator.size; ++peer) {
    if (peer == communicator.rank) continue;
    const std::size_t index = parts ? static_cast<std::size_t>(peer) : 0;
    plan.sends.push_back({peer, header, part(from, index, byte_count), 0, byte_count});
    plan.receives.push_back({peer, header, nullptr, plan.scratch_bytes, byte_count});
    plan.scratch_bytes += byte_count;
  }
}

}  // namespace

extern "C" {

ncclResult_t ncclGroupStart() {
  if (const auto error = emulation::count_call("ncclGroupStart"))
    return static_cast<ncclResult_t>(*error);
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const auto error = emulation::count_call("ncclGroupEnd");
  if (group().depth == 0) return ncclInvalidUsage;
  if (error) group().error = static_cast<ncclResult_t>(*error);
  return end_group();
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return call(
      "ncclAllReduce", comm, stream, type, {from, count, to, count},
      [&](Plan& plan, const Communicator& communicator, std::size_t) {
        add_reduction(plan, communicator, {Kind::all_reduce, type, op, 0, count}, from, to, false);
      });
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t whole = comm == nullptr ? 0 : count * static_cast<size_t>(comm->state->size);
  return call("ncclReduceScatter", comm, stream, type, {from, whole, to, count},
              [&](Plan& plan, const Communicator& communicator, std::size_t) {
                add_reduction(plan, communicator, {Kind::reduce_scatter, type, op, 0, count}, from,
                              to, true);
              });
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  const std::size_t whole = comm == nullptr ? 0 : count * static_cast<size_t>(comm->state->size);
  return call("ncclAllGather", comm, stream, type, {from, count, to, whole},
              [&](Plan& plan, const Communicator& communicator, std::size_t size) {
                const Header header{Kind::all_gather, type, 0, 0, count};
                const std::size_t bytes = count * size;
                for (int peer = 0; peer < communicator.size; ++peer) {
                  void* const place = part(to, static_cast<std::size_t>(peer), bytes);
                  if (peer == communicator.rank) {
                    plan.copies.push_back({from, place, bytes});
                    continue;
                  }
                  plan.sends.push_back({peer, header, const_cast<void*>(from), 0, bytes});
                  plan.receives.push_back({peer, header, place, 0, bytes});
                }
              });
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const bool is_root = comm != nullptr && comm->state->rank == root;
  return call("ncclBroadcast", comm, stream, type, {from, is_root ? count : 0, to, count},
              [&](Plan& plan, const Communicator& communicator, std::size_t size) {
                const Header header{Kind::broadcast, type, root, 0, count};
                if (!is_root) {
                  plan.receives.push_back({root, header, to, 0, count * size});
                  return;
                }
                plan.copies.push_back({from, to, count * size});
                for (int peer = 0; peer < communicator.size; ++peer)
                  if (peer != root)
                    plan.sends.push_back({peer, header, const_cast<void*>(from), 0, count * size});
              });
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  if (comm != nullptr && (peer < 0 || peer >= comm->state->size)) return ncclInvalidArgument;
  return call(
      "ncclSend", comm, stream, type, {from, count, nullptr, 0},
      [&](Plan& plan, const Communicator&, std::size_t size) {
        plan.sends.push_back(
            {peer, {Kind::message, type, 0, 0, count}, const_cast<void*>(from), 0, count * size});
      });
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  if (comm != nullptr && (peer < 0 || peer >= comm->state->size)) return ncclInvalidArgument;
  return call(
      "ncclRecv", comm, stream, type, {nullptr, 0, to, count},
      [&](Plan& plan, const Communicator&, std::size_t size) {
        plan.receives.push_back({peer, {Kind::message, type, 0, 0, count}, to, 0, count * size});
      });
}

}  // extern "C"
