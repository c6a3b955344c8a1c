#include "emulation/nccl/exchange.hpp"

#include <cstring>

#include "emulation/nccl/arithmetic.hpp"

namespace emulation::nccl {

Exchange::Exchange(std::shared_ptr<Communicator> communicator, std::shared_ptr<const Plan> plan)
    : communicator_(std::move(communicator)), plan_(std::move(plan)) {
  ++communicator_->in_flight;
}

Exchange::~Exchange() {
  const void* self = this;
  communicator_->active.compare_exchange_strong(self, nullptr);
  --communicator_->in_flight;
}

std::byte* Exchange::place(const Plan::Transfer& transfer) const {
  if (transfer.bytes != nullptr) return static_cast<std::byte*>(transfer.bytes);
  return const_cast<std::byte*>(scratch_.data()) + transfer.scratch_offset;
}

void Exchange::begin() {
  const auto size = static_cast<std::size_t>(communicator_->size);
  scratch_.resize(plan_->scratch_bytes);
  sends_.resize(size);
  receives_.resize(size);
  for (const auto& transfer : plan_->sends)
    sends_[static_cast<std::size_t>(transfer.peer)].push_back({&transfer});
  for (const auto& transfer : plan_->receives)
    receives_[static_cast<std::size_t>(transfer.peer)].push_back({&transfer});
  begun_ = true;
}

bool Exchange::send(Moving& moving) {
  const Plan::Transfer& transfer = *moving.transfer;
  Ring& ring = communicator_->segment->ring(communicator_->rank, transfer.peer);
  if (moving.moved < sizeof(Header))
    moving.moved += ring.put(reinterpret_cast<const std::byte*>(&transfer.header) + moving.moved,
                             sizeof(Header) - moving.moved);
  if (moving.moved < sizeof(Header)) return false;
  const std::size_t done = moving.moved - sizeof(Header);
  moving.moved += ring.put(place(transfer) + done, transfer.byte_count - done);
  return moving.moved == sizeof(Header) + transfer.byte_count;
}

bool Exchange::receive(Moving& moving) {
  const Plan::Transfer& transfer = *moving.transfer;
  Ring& ring = communicator_->segment->ring(transfer.peer, communicator_->rank);
  if (moving.moved < sizeof(Header))
    moving.moved += ring.take(reinterpret_cast<std::byte*>(&moving.arrived) + moving.moved,
                              sizeof(Header) - moving.moved);
  if (moving.moved < sizeof(Header)) return false;
  if (moving.arrived != transfer.header) {
    communicator_->stalled = true;
    if (reports_mismatch()) communicator_->error = ncclInvalidUsage;
    return false;
  }
  const std::size_t done = moving.moved - sizeof(Header);
  moving.moved += ring.take(place(transfer) + done, transfer.byte_count - done);
  return moving.moved == sizeof(Header) + transfer.byte_count;
}

// Only now: what is sent may lie where results come to.
void Exchange::finish() {
  for (const auto& copy : plan_->copies)
    if (copy.from != copy.to) std::memmove(copy.to, copy.from, copy.byte_count);
  for (const auto& reduction : plan_->reductions) {
    std::vector<const void*> sources;
    const std::byte* row = scratch_.data() + reduction.scratch_offset;
    for (int rank = 0; rank < communicator_->size; ++rank) {
      sources.push_back(rank == communicator_->rank ? reduction.own : row);
      if (rank != communicator_->rank) row += reduction.count * size_of(reduction.type);
    }
    reduce(reduction.type, reduction.op, sources, reduction.result, reduction.count);
  }
}

Progress Exchange::run() {
  Communicator& communicator = *communicator_;
  if (communicator.aborted || done_) return Progress::done;
  if (communicator.stalled) return Progress::waiting;
  const void* nobody = nullptr;
  if (communicator.active != this && !communicator.active.compare_exchange_strong(nobody, this))
    return Progress::waiting;
  if (!begun_) begin();
  bool left = false;
  for (auto& queue : sends_) {
    while (!queue.empty() && send(queue.front())) queue.pop_front();
    left = left || !queue.empty();
  }
  for (auto& queue : receives_) {
    while (!queue.empty() && receive(queue.front())) queue.pop_front();
    left = left || !queue.empty();
  }
  if (left) return Progress::waiting;
  finish();
  done_ = true;
  communicator.active = nullptr;
  return Progress::done;
}

}  // namespace emulation::nccl
