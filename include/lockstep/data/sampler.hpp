// Which samples a rank uses in an epoch.
#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0::data {

/// How a data set is cut when its size is no multiple of the number of ranks. Train with padded or
/// dropped: with exact some ranks may have a batch more than others, and wait for exchanges that
/// these do not make. exact is for evaluation.
enum class Partition : std::uint8_t {
  padded,   // every rank gets ceil(N / ranks); the list is repeated from its head (cyclically)
  dropped,  // every rank gets floor(N / ranks); the tail is left out
  exact,    // every sample once; the first N % ranks ranks get one more
};

struct SamplerOptions {
  bool shuffle = true;
  std::uint64_t seed = 0;
  Partition partition = Partition::padded;
};

/// One permutation from (seed, epoch), the same on all ranks; rank r takes positions r, r + ranks,
/// ... of it.
class LOCKSTEP_API Sampler {
 public:
  /// @throws InvalidUsage for a negative size or a rank outside [0, ranks).
  Sampler(std::int64_t size, int rank, int ranks, SamplerOptions options = {});

  /// Samples per epoch on this rank.
  std::int64_t count() const noexcept { return count_; }
  std::vector<std::int64_t> epoch(std::int64_t epoch) const;

 private:
  std::int64_t size_;
  int rank_;
  int ranks_;
  SamplerOptions options_;
  std::int64_t count_;
};

}  // namespace lockstep::inline v0::data
