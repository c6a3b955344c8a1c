// Broadcast along a binomial tree, chunk by chunk, so that a rank passes one chunk on while the
// next one arrives. Bytes on the wire: each rank but the root receives the buffer once; the root
// sends it at most log2(n) times.
#pragma once

#include <vector>

#include "comm/communicator_backend.hpp"
#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

class TreeBroadcast final : public Collective {
 public:
  TreeBroadcast(std::shared_ptr<Group> group, const Call& call, Span values,
                std::vector<Tensor> keep);

 private:
  static constexpr std::int64_t kChunksInFlight = 8;

  void begin() override;
  bool transfer() override;
  void find_relatives();
  void post();
  char* chunk_at(std::int64_t chunk) const noexcept;

  Span values_;
  std::int64_t chunk_count_;  // elements
  int parent_ = -1;           // -1 at the root
  std::vector<int> children_;

  std::int64_t asked_ = 0;           // chunks whose receive is posted
  std::int64_t arrived_ = 0;         // chunks that came, from the first on without a gap
  std::vector<bool> came_;           // by chunk
  std::int64_t passed_ = 0;          // chunks whose sends are posted
  std::int64_t sends_complete_ = 0;  // over all children
};

}  // namespace lockstep::inline v0::detail::mpi
