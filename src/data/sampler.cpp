#include <lockstep/core/error.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/data/sampler.hpp>

#include <string>

namespace lockstep::inline v0::data {

namespace {

// Streams of their own ("sampler"), so that an order shares no random words with weights that were
// drawn from the same seed.
constexpr std::uint64_t kFirstStream = 0x73616D706C657200;

std::int64_t samples_per_rank(std::int64_t size, int rank, int ranks, Partition partition) {
  const auto whole = size / ranks;
  const auto rest = size % ranks;
  switch (partition) {
    case Partition::padded:
      return whole + (rest > 0 ? 1 : 0);
    case Partition::dropped:
      return whole;
    case Partition::exact:
      return whole + (rank < rest ? 1 : 0);
  }
  return 0;
}

}  // namespace

Sampler::Sampler(std::int64_t size, int rank, int ranks, SamplerOptions options)
    : size_(size), rank_(rank), ranks_(ranks), options_(options) {
  if (size < 0)
    throw InvalidUsage("[data] Sampler: expected a size of at least 0, found " +
                       std::to_string(size));
  if (rank < 0 || rank >= ranks)
    throw InvalidUsage("[data] Sampler: expected a rank in [0, ranks), found rank " +
                       std::to_string(rank) + " of " + std::to_string(ranks) + " ranks");
  count_ = samples_per_rank(size, rank, ranks, options.partition);
}

std::vector<std::int64_t> Sampler::epoch(std::int64_t epoch) const {
  std::vector<std::int64_t> order;
  if (options_.shuffle)
    order = Generator(options_.seed, kFirstStream + static_cast<std::uint64_t>(epoch))
                .permutation(size_);
  std::vector<std::int64_t> own(static_cast<std::size_t>(count_));
  for (std::int64_t i = 0; i < count_; ++i) {
    // Beyond the end only when padded; a set smaller than the number of ranks wraps more than once.
    const auto position = (rank_ + i * ranks_) % size_;
    own[static_cast<std::size_t>(i)] =
        options_.shuffle ? order[static_cast<std::size_t>(position)] : position;
  }
  return own;
}

}  // namespace lockstep::inline v0::data
