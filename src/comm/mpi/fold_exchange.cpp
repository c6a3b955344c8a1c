#include "comm/mpi/fold_exchange.hpp"

#include <algorithm>

#include "comm/mpi/tuning.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) noexcept {
  return value / by + (value % by != 0);
}

/// Elements of a slice, for `count` elements that this rank folds: as few slices as fit, and all of
/// about the same length.
std::int64_t slice_length(std::int64_t count, int ranks, std::int64_t element_bytes) noexcept {
  const std::int64_t others = std::max(1, ranks - 1);
  const std::int64_t bytes =
      std::min(tuning().slice_bytes, tuning().scratch_bytes / (others * tuning().pieces_in_flight));
  const std::int64_t most =
      std::clamp<std::int64_t>(bytes / element_bytes, 1, tuning().elements_per_call);
  return count == 0 ? 1 : divide_up(count, divide_up(count, most));
}

void fold_sources(const std::vector<const void*>& sources, void* result, int count, ReduceOp op,
                  DType dtype) {
  backend::Elementwise& elementwise = backend::backend_for(Device::cpu()).elementwise;
  const int source_count = static_cast<int>(sources.size());
  if (op != ReduceOp::sum) {
    elementwise.fold_extreme(dtype, op == ReduceOp::max, sources.data(), source_count, result,
                             count, {});
  } else if (source_count == 2 && (dtype == DType::float32 || dtype == DType::float64)) {
    // One addition takes half the time of a fold over any number of sources.
    backend::Broadcast plain;
    plain.axes = 1;
    plain.sizes[0] = count;
    plain.a_strides[0] = plain.b_strides[0] = 1;
    elementwise.binary(backend::BinaryOperation::add, dtype, plain, sources[0], sources[1], result,
                       {});
  } else {
    elementwise.fold_sum(dtype, sources.data(), source_count, result, count, {});
  }
}

}  // namespace

FoldExchange::FoldExchange(std::shared_ptr<Group> group, const Call& call, Span input, Span output,
                           std::vector<Tensor> keep)
    : Collective(std::move(group), call, std::move(keep)),
      gathers_(call.verb == Verb::all_reduce),
      input_(input),
      output_(output),
      element_bytes_(byte_size(input.dtype)),
      slice_count_(
          slice_length(gathers_ ? divide_up(input.count, this->group().size) : output.count,
                       this->group().size, element_bytes_)),
      piece_count_(gathers_ ? slice_count_ * this->group().size : slice_count_),
      pieces_(divide_up(output.count, piece_count_)),
      in_flight_(static_cast<int>(std::min<std::int64_t>(tuning().pieces_in_flight, pieces_))),
      scratch_(in_flight_ * (this->group().size - 1) * slice_count_ * element_bytes_),
      awaited_(static_cast<std::size_t>(in_flight_)) {
  if (!gathers_) return;
  const auto ranks = static_cast<std::size_t>(this->group().size);
  sent_.resize(ranks, std::vector<bool>(static_cast<std::size_t>(pieces_)));
  next_return_.resize(ranks);
}

FoldExchange::Slice FoldExchange::slice(std::int64_t piece, int rank) const noexcept {
  const std::int64_t begin = piece * piece_count_;
  const std::int64_t count = std::min(piece_count_, output_.count - begin);
  if (!gathers_) return {rank * output_.count + begin, static_cast<int>(count)};
  // Even parts, the first ones longer by one element where the count does not divide.
  const std::int64_t size = group().size;
  const std::int64_t whole = count / size;
  const std::int64_t longer = count % size;
  return {begin + rank * whole + std::min<std::int64_t>(rank, longer),
          static_cast<int>(whole + (rank < longer))};
}

char* FoldExchange::input_at(std::int64_t offset) const noexcept {
  return static_cast<char*>(input_.data) + offset * element_bytes_;
}

char* FoldExchange::result(std::int64_t piece) const noexcept {
  if (gathers_) return input_at(slice(piece, group().rank).offset);
  return static_cast<char*>(output_.data) + piece * piece_count_ * element_bytes_;
}

char* FoldExchange::scratch(std::int64_t piece, int rank) const noexcept {
  const std::int64_t place = rank < group().rank ? rank : rank - 1;
  const std::int64_t row = piece % in_flight_ * (group().size - 1) + place;
  return scratch_.data() + row * slice_count_ * element_bytes_;
}

std::int64_t FoldExchange::token(Purpose purpose, std::int64_t piece, int peer) const noexcept {
  return (piece * group().size + peer) * kPurposes + purpose;
}

void FoldExchange::begin() { post_pieces(); }

void FoldExchange::post_pieces() {
  // The scratch of a piece is free again when the piece in_flight_ before it is folded.
  while (posted_ < pieces_ && posted_ < folded_ + in_flight_) post_first(posted_++);
}

void FoldExchange::post_first(std::int64_t piece) {
  const int rank = group().rank;
  const int size = group().size;
  const MPI_Datatype type = datatype(input_.dtype);
  const int own_count = slice(piece, rank).count;
  awaited_[static_cast<std::size_t>(piece % in_flight_)] = own_count > 0 ? size - 1 : 0;
  // Every rank begins with its right neighbour, so no rank is asked by all the others at once.
  for (int step = 1; step < size && own_count > 0; ++step) {
    const int peer = (rank + size - step) % size;
    requests_.receive(scratch(piece, peer), own_count, type, peer, channel(kFirst),
                      token(kReceived, piece, peer));
  }
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const Slice theirs = slice(piece, peer);
    if (theirs.count > 0)
      requests_.send(input_at(theirs.offset), theirs.count, type, peer, channel(kFirst),
                     token(kFirst, piece, peer));
  }
}

void FoldExchange::fold(std::int64_t piece) {
  const int rank = group().rank;
  const Slice own = slice(piece, rank);
  if (own.count == 0) return;
  std::vector<const void*> sources(static_cast<std::size_t>(group().size));
  for (int source = 0; source < group().size; ++source)
    sources[static_cast<std::size_t>(source)] =
        source == rank ? input_at(own.offset) : scratch(piece, source);
  fold_sources(sources, result(piece), own.count, static_cast<ReduceOp>(call().op), input_.dtype);
}

void FoldExchange::post_second(std::int64_t piece) {
  const int rank = group().rank;
  const int size = group().size;
  const int count = slice(piece, rank).count;
  for (int step = 1; step < size && count > 0; ++step) {
    const int peer = (rank + step) % size;
    requests_.send(result(piece), count, datatype(input_.dtype), peer, channel(kSecond),
                   token(kSecond, piece, peer));
  }
}

// A folded slice comes to where the own values of it were, so these must have been sent. Asked for
// in the order of the pieces, which is the order in which the peer sends.
void FoldExchange::post_returns(int peer) {
  auto& next = next_return_[static_cast<std::size_t>(peer)];
  const auto& sent = sent_[static_cast<std::size_t>(peer)];
  for (; next < posted_; ++next) {
    const Slice theirs = slice(next, peer);
    if (theirs.count == 0) continue;
    if (!sent[static_cast<std::size_t>(next)]) return;
    requests_.receive(input_at(theirs.offset), theirs.count, datatype(input_.dtype), peer,
                      channel(kSecond), token(kSecond, next, peer));
  }
}

bool FoldExchange::transfer() {
  requests_.test([&](std::int64_t token, const MPI_Status&) {
    const auto purpose = static_cast<Purpose>(token % kPurposes);
    const std::int64_t place = token / kPurposes;
    const std::int64_t piece = place / group().size;
    const auto peer = static_cast<std::size_t>(place % group().size);
    if (purpose == kReceived) {
      --awaited_[static_cast<std::size_t>(piece % in_flight_)];
      hear_of(static_cast<int>(peer));
    }
    if (purpose == kFirst && gathers_) sent_[peer][static_cast<std::size_t>(piece)] = true;
  });
  while (folded_ < posted_ && awaited_[static_cast<std::size_t>(folded_ % in_flight_)] == 0) {
    fold(folded_);
    if (gathers_) post_second(folded_);
    ++folded_;
    post_pieces();
  }
  bool returns_posted = true;
  if (gathers_)
    for (int peer = 0; peer < group().size; ++peer) {
      if (peer == group().rank) continue;
      post_returns(peer);
      returns_posted = returns_posted && next_return_[static_cast<std::size_t>(peer)] == pieces_;
    }
  return folded_ == pieces_ && returns_posted && requests_.empty();
}

}  // namespace lockstep::inline v0::detail::mpi
