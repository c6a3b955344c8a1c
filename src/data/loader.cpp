#include <lockstep/data/loader.hpp>

#include <string>
#include <utility>

#include <lockstep/core/error.hpp>

#include "data/epoch_state.hpp"
#include "data/spare_core.hpp"

namespace lockstep::inline v0::data {

namespace detail {

struct LoaderState {
  const Dataset* dataset;
  Sampler sampler;
  std::int64_t batch_size;
  bool drop_last;
  int prefetch;
  Device device;
  std::int64_t next_epoch = 0;

  std::int64_t batch_count() const noexcept {
    const auto whole = sampler.count() / batch_size;
    const bool rest = sampler.count() % batch_size != 0;
    return whole + (rest && !drop_last ? 1 : 0);
  }
};

}  // namespace detail

namespace {

constexpr int kDefaultPrefetch = 2;

void check(const LoaderOptions& options) {
  if (options.batch_size_per_rank <= 0)
    throw InvalidUsage("[data] DataLoader: expected batch_size_per_rank of at least 1, found " +
                       std::to_string(options.batch_size_per_rank));
  if (options.prefetch < -1)
    throw InvalidUsage("[data] DataLoader: expected prefetch of at least -1 (automatic), found " +
                       std::to_string(options.prefetch));
}

std::unique_ptr<detail::LoaderState> make_state(const Dataset& dataset, int rank, int ranks,
                                                const LoaderOptions& options, Device device,
                                                int local_ranks) {
  check(options);
  const int automatic = detail::has_spare_core(local_ranks) ? kDefaultPrefetch : 0;
  Sampler sampler(dataset.size(), rank, ranks,
                  {.shuffle = options.shuffle,
                   .seed = options.seed.value_or(0),
                   .partition = options.partition});
  return std::make_unique<detail::LoaderState>(detail::LoaderState{
      .dataset = &dataset,
      .sampler = sampler,
      .batch_size = options.batch_size_per_rank,
      .drop_last = options.drop_last,
      .prefetch = options.prefetch == -1 ? automatic : options.prefetch,
      .device = device,
  });
}

LoaderOptions with_seed(LoaderOptions options, std::uint64_t seed) {
  if (!options.seed) options.seed = seed;
  return options;
}

}  // namespace

DataLoader::DataLoader(const Dataset& dataset, const Environment& environment,
                       const LoaderOptions& options)
    : state_(make_state(dataset, environment.rank(), environment.size(),
                        with_seed(options, environment.seed()), environment.device(),
                        environment.local_size())) {}

DataLoader::DataLoader(const Dataset& dataset, int rank, int ranks, const LoaderOptions& options,
                       Device device)
    : state_(make_state(dataset, rank, ranks, options, device, 1)) {}

DataLoader::DataLoader(DataLoader&&) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&&) noexcept = default;
DataLoader::~DataLoader() = default;

Epoch DataLoader::epoch(std::int64_t epoch) {
  return Epoch(std::make_unique<detail::EpochState>(detail::EpochPlan{
      .dataset = state_->dataset,
      .order = state_->sampler.epoch(epoch),
      .batch_size = state_->batch_size,
      .batch_count = batch_count(),
      .prefetch = state_->prefetch,
      .device = state_->device,
  }));
}

Epoch DataLoader::epoch() { return epoch(state_->next_epoch++); }

std::int64_t DataLoader::batch_count() const noexcept { return state_->batch_count(); }

std::int64_t DataLoader::sample_count() const noexcept {
  const auto count = state_->sampler.count();
  return state_->drop_last ? count - count % state_->batch_size : count;
}

Epoch::Epoch(std::unique_ptr<detail::EpochState> state) : state_(std::move(state)) {}
Epoch::Epoch(Epoch&&) noexcept = default;
Epoch& Epoch::operator=(Epoch&&) noexcept = default;
Epoch::~Epoch() = default;

Epoch::iterator Epoch::begin() {
  state_->begin();
  return iterator(state_.get());
}

std::int64_t Epoch::size() const { return state_->batch_count(); }

const Batch& Epoch::iterator::operator*() const { return state_->current(); }

Epoch::iterator& Epoch::iterator::operator++() {
  state_->advance();
  return *this;
}

bool Epoch::iterator::at_end() const { return state_->at_end(); }

}  // namespace lockstep::inline v0::data
