#include "comm/nccl/rank_order.hpp"

#include <algorithm>

#include <lockstep/core/units.hpp>
#include "backend/backend.hpp"

namespace lockstep::inline v0::detail::nccl {
namespace {

// Long enough for the links between GPUs, and little memory at eight ranks.
constexpr std::int64_t kSliceBytes = 4 * MiB;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

RankOrder::RankOrder(int rank, int size, Span input, Span output, ReduceOp op, bool gathers)
    : rank_(rank), size_(size), input_(input), output_(output), op_(op), gathers_(gathers) {
  const std::int64_t most = kSliceBytes / byte_size(input.dtype);
  slice_count_ = std::min(most, gathers ? divide_up(input.count, size) : output.count);
}

// all_reduce: a piece is size() slices that lie side by side, the last ones shorter or empty.
// reduce_scatter: slice r of a piece lies in part r.
RankOrder::Slice RankOrder::slice(std::int64_t piece, int rank) const noexcept {
  const std::int64_t begin =
      gathers_ ? (piece * size_ + rank) * slice_count_ : piece * slice_count_;
  const std::int64_t count = std::clamp<std::int64_t>(output_.count - begin, 0, slice_count_);
  return {gathers_ ? begin : rank * output_.count + begin, count};
}

char* RankOrder::at(const Span& span, std::int64_t offset) const noexcept {
  return static_cast<char*>(span.data) + offset * byte_size(span.dtype);
}

char* RankOrder::row(void* scratch, int rank) const noexcept {
  const std::int64_t place = rank < rank_ ? rank : rank - 1;
  return static_cast<char*>(scratch) + place * slice_count_ * byte_size(input_.dtype);
}

void RankOrder::hand_out(Launcher& launcher, std::int64_t piece, void* scratch) const {
  const auto own = static_cast<std::size_t>(slice(piece, rank_).count);
  launcher.run_group([&](ncclComm_t communicator) {
    ncclResult_t result = ncclSuccess;
    for (int step = 1; step < size_ && result == ncclSuccess; ++step) {
      const int to = (rank_ + step) % size_;
      const int from = (rank_ + size_ - step) % size_;
      const Slice theirs = slice(piece, to);
      if (theirs.count > 0)
        result = ncclSend(at(input_, theirs.offset), static_cast<std::size_t>(theirs.count),
                          datatype(input_.dtype), to, communicator, launcher.stream());
      if (own > 0 && result == ncclSuccess)
        result = ncclRecv(row(scratch, from), own, datatype(input_.dtype), from, communicator,
                          launcher.stream());
    }
    return result;
  });
}

void RankOrder::fold(Launcher& launcher, std::int64_t piece, void* scratch) const {
  const Slice own = slice(piece, rank_);
  if (own.count == 0) return;
  std::vector<const void*> sources(static_cast<std::size_t>(size_));
  for (int source = 0; source < size_; ++source)
    sources[static_cast<std::size_t>(source)] =
        source == rank_ ? at(input_, own.offset) : row(scratch, source);
  void* const result =
      gathers_ ? at(input_, own.offset) : at(output_, own.offset - rank_ * output_.count);
  auto& elementwise = backend::backend_for(input_.device).elementwise;
  const backend::Queue queue{launcher.stream()};
  if (op_ == ReduceOp::sum)
    elementwise.fold_sum(input_.dtype, sources.data(), size_, result, own.count, queue);
  else
    elementwise.fold_extreme(input_.dtype, op_ == ReduceOp::max, sources.data(), size_, result,
                             own.count, queue);
}

// Not an all_gather: the last slices may be shorter.
void RankOrder::gather(Launcher& launcher, std::int64_t piece) const {
  const Slice own = slice(piece, rank_);
  launcher.run_group([&](ncclComm_t communicator) {
    ncclResult_t result = ncclSuccess;
    for (int step = 1; step < size_ && result == ncclSuccess; ++step) {
      const int to = (rank_ + step) % size_;
      const int from = (rank_ + size_ - step) % size_;
      const Slice theirs = slice(piece, from);
      if (own.count > 0)
        result = ncclSend(at(input_, own.offset), static_cast<std::size_t>(own.count),
                          datatype(input_.dtype), to, communicator, launcher.stream());
      if (theirs.count > 0 && result == ncclSuccess)
        result = ncclRecv(at(input_, theirs.offset), static_cast<std::size_t>(theirs.count),
                          datatype(input_.dtype), from, communicator, launcher.stream());
    }
    return result;
  });
}

void RankOrder::enqueue(Launcher& launcher, void* scratch) const {
  const std::int64_t piece_count = gathers_ ? slice_count_ * size_ : slice_count_;
  const std::int64_t pieces = divide_up(output_.count, piece_count);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    hand_out(launcher, piece, scratch);
    fold(launcher, piece, scratch);
    if (gathers_) gather(launcher, piece);
  }
}

}  // namespace lockstep::inline v0::detail::nccl
