// Sums in rank order, and minimum and maximum in which NaN wins, over NCCL: every rank gets the
// slices of the others, folds them by the backend, and hands the result on where all want it.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator_backend.hpp"
#include "comm/nccl/link.hpp"

namespace lockstep::inline v0::detail::nccl {

/// A folded exchange: each rank owns a slice of each piece.
class RankOrder {
 public:
  /// gathers: all_reduce, and input is output. Else reduce_scatter: slice r of input is part r.
  RankOrder(int rank, int size, Span input, Span output, ReduceOp op, bool gathers);

  /// Memory that it needs: one row per other rank.
  std::int64_t scratch_count() const noexcept { return (size_ - 1) * slice_count_; }
  void enqueue(Launcher& launcher, void* scratch) const;

 private:
  struct Slice {
    std::int64_t offset;  // elements
    std::int64_t count;
  };

  Slice slice(std::int64_t piece, int rank) const noexcept;
  char* at(const Span& span, std::int64_t offset) const noexcept;
  char* row(void* scratch, int rank) const noexcept;
  void hand_out(Launcher& launcher, std::int64_t piece, void* scratch) const;
  void fold(Launcher& launcher, std::int64_t piece, void* scratch) const;
  void gather(Launcher& launcher, std::int64_t piece) const;

  int rank_;
  int size_;
  Span input_;
  Span output_;
  ReduceOp op_;
  bool gathers_;
  std::int64_t slice_count_;  // at most
};

}  // namespace lockstep::inline v0::detail::nccl
