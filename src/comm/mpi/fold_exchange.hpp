// Sums (minima, maxima) over ranks in rank order: rank 0 + rank 1 + ..., element by element, so the
// bits depend on nothing but the values.
//
// The buffer is cut into pieces, and a piece into one slice per rank. For each piece
//   first:  rank r receives slice r from every other rank, into scratch;
//   fold:   rank r adds what it has, in rank order;
//   second: rank r sends the folded slice to every other rank (all_reduce only).
// A few pieces are under way at once, so transfer and folding overlap and scratch stays small.
// Bytes on the wire, per rank: 2 (n-1)/n of the buffer each way, half of it for reduce_scatter.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator_backend.hpp"
#include "comm/mpi/operation.hpp"
#include "comm/mpi/scratch.hpp"

namespace lockstep::inline v0::detail::mpi {

class FoldExchange final : public Collective {
 public:
  /// all_reduce: `output` is `input`. reduce_scatter: `output` is one part of `input`.
  FoldExchange(std::shared_ptr<Group> group, const Call& call, Span input, Span output,
               std::vector<Tensor> keep);

 private:
  struct Slice {
    std::int64_t offset;  // in the input, in elements
    int count;
  };

  void begin() override;
  bool transfer() override;

  Slice slice(std::int64_t piece, int rank) const noexcept;
  char* input_at(std::int64_t offset) const noexcept;
  char* result(std::int64_t piece) const noexcept;
  char* scratch(std::int64_t piece, int rank) const noexcept;
  std::int64_t token(Purpose purpose, std::int64_t piece, int peer) const noexcept;

  void post_first(std::int64_t piece);
  void post_pieces();
  void fold(std::int64_t piece);
  void post_second(std::int64_t piece);
  void post_returns(int peer);
  // Until the last piece is complete every rank is needed.
  bool needs(int rank) const override { return rank != group().rank; }

  // What a token says of a request; the first messages that are received take the free number.
  static constexpr Purpose kReceived = kGreeting;

  bool gathers_;  // all_reduce
  Span input_;
  Span output_;
  std::int64_t element_bytes_;
  std::int64_t slice_count_;  // elements of the longest slice
  std::int64_t piece_count_;  // elements of a piece over all ranks; of a slice in reduce_scatter
  std::int64_t pieces_;
  int in_flight_;
  Scratch scratch_;

  std::int64_t posted_ = 0;                // pieces whose first messages are posted
  std::int64_t folded_ = 0;                // pieces that are folded; folding keeps the order
  std::vector<int> awaited_;               // per piece in flight: slices that did not come yet
  std::vector<std::vector<bool>> sent_;    // per rank: pieces whose slice has been sent
  std::vector<std::int64_t> next_return_;  // per rank: the next folded slice to ask for
};

}  // namespace lockstep::inline v0::detail::mpi
