#include "comm/mpi/tree_broadcast.hpp"

#include <algorithm>

#include "comm/mpi/tuning.hpp"

namespace lockstep::inline v0::detail::mpi {

TreeBroadcast::TreeBroadcast(std::shared_ptr<Group> group, const Call& call, Span values,
                             std::vector<Tensor> keep)
    : Collective(std::move(group), call, std::move(keep)),
      values_(values),
      chunk_count_(std::clamp<std::int64_t>(tuning().broadcast_bytes / byte_size(values.dtype), 1,
                                            tuning().elements_per_call)) {
  find_relatives();
  came_.resize(static_cast<std::size_t>(split_counts(values.count, chunk_count_).parts()));
}

// In ranks relative to the root: the parent of r is r without its lowest bit; its children are r
// with one bit below that one added.
void TreeBroadcast::find_relatives() {
  const int size = group().size;
  const int root = call().peer;
  const int relative = (group().rank - root + size) % size;
  const int lowest_bit = relative & -relative;
  if (relative != 0) parent_ = (relative - lowest_bit + root) % size;
  int bit = 1;
  while (bit < size) bit *= 2;
  if (relative != 0) bit = lowest_bit;
  for (bit /= 2; bit > 0; bit /= 2)  // the child with the largest subtree first
    if (relative + bit < size) children_.push_back((relative + bit + root) % size);
}

char* TreeBroadcast::chunk_at(std::int64_t chunk) const noexcept {
  return static_cast<char*>(values_.data) + chunk * chunk_count_ * byte_size(values_.dtype);
}

void TreeBroadcast::begin() {
  if (parent_ < 0) arrived_ = static_cast<std::int64_t>(came_.size());
  post();
}

void TreeBroadcast::post() {
  const SplitCounts chunks = split_counts(values_.count, chunk_count_);
  const MPI_Datatype type = datatype(values_.dtype);
  if (parent_ >= 0)
    for (; asked_ < chunks.parts() && asked_ < arrived_ + kChunksInFlight; ++asked_)
      requests_.receive(chunk_at(asked_), chunks.size(asked_), type, parent_, channel(kFirst),
                        asked_ + 1);
  const auto children = static_cast<std::int64_t>(children_.size());
  if (children == 0) return;
  for (; passed_ < arrived_ && passed_ < sends_complete_ / children + kChunksInFlight; ++passed_)
    for (const int child : children_)
      requests_.send(chunk_at(passed_), chunks.size(passed_), type, child, channel(kFirst));
}

bool TreeBroadcast::transfer() {
  requests_.test([&](std::int64_t token, const MPI_Status&) {
    if (token == 0)
      ++sends_complete_;
    else
      came_[static_cast<std::size_t>(token - 1)] = true;
  });
  const auto chunks = static_cast<std::int64_t>(came_.size());
  while (arrived_ < chunks && came_[static_cast<std::size_t>(arrived_)]) ++arrived_;
  post();
  return requests_.empty() && arrived_ == chunks && (children_.empty() || passed_ == chunks);
}

}  // namespace lockstep::inline v0::detail::mpi
