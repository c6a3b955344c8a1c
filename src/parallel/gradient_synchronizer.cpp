#include <lockstep/parallel/gradient_synchronizer.hpp>

#include <utility>

#include <lockstep/core/error.hpp>

#include "parallel/agreement.hpp"
#include "parallel/bucket_exchange.hpp"
#include "parallel/scale_gradient.hpp"

namespace lockstep::inline v0 {

namespace detail {

class SynchronizerState {
 public:
  SynchronizerState(const Communicator& ranks, const SynchronizerOptions& options)
      : exchange(ranks.duplicate(), options) {}

  void finish() {
    if (!exchange.committed()) throw InvalidUsage("finish: commit() comes first");
    if (!exchange.complete())
      throw InvalidUsage("finish: gradients that are not ready on rank " +
                         std::to_string(exchange.ranks().rank()) + ": " + exchange.missing() +
                         "; call ready() for them, or finish_without_rest()");
    apply(exchange.finish());
  }

  void finish_without_rest() {
    if (!exchange.committed()) throw InvalidUsage("finish_without_rest: commit() comes first");
    for (std::int64_t id = 0; id < exchange.entry_count(); ++id)
      if (!exchange.is_ready(id)) exchange.ready_as_zero(id);
    apply(exchange.finish());
  }

  BucketExchange exchange;

 private:
  void apply(double factor) {
    if (factor == 1) return;
    for (std::int64_t id = 0; id < exchange.entry_count(); ++id)
      scale_gradient(exchange.gradient(id), factor);
  }
};

}  // namespace detail

GradientSynchronizer::GradientSynchronizer(const Communicator& ranks,
                                           const SynchronizerOptions& options)
    : state_(std::make_unique<detail::SynchronizerState>(ranks, options)) {}
GradientSynchronizer::GradientSynchronizer(GradientSynchronizer&&) noexcept = default;
GradientSynchronizer& GradientSynchronizer::operator=(GradientSynchronizer&&) noexcept = default;
GradientSynchronizer::~GradientSynchronizer() = default;

std::int64_t GradientSynchronizer::add(std::string name, Tensor gradient) {
  return state_->exchange.add(std::move(name), std::move(gradient));
}

void GradientSynchronizer::commit() {
  detail::BucketExchange& exchange = state_->exchange;
  if (exchange.committed()) throw InvalidUsage("commit: the synchronizer is committed already");
  detail::check_agreement(exchange.ranks(), "the list of gradients", exchange.description());
  exchange.commit();
}

void GradientSynchronizer::set_sample_count(double samples) {
  state_->exchange.set_sample_count(samples);
}
void GradientSynchronizer::ready(std::int64_t id) { state_->exchange.ready(id); }
void GradientSynchronizer::finish_without_rest() { state_->finish_without_rest(); }
void GradientSynchronizer::finish() { state_->finish(); }
const SynchronizerCounters& GradientSynchronizer::counters() const noexcept {
  return state_->exchange.counters();
}
std::int64_t GradientSynchronizer::bucket_count() const noexcept {
  return state_->exchange.bucket_count();
}
const Communicator& GradientSynchronizer::ranks() const noexcept {
  return state_->exchange.ranks();
}

}  // namespace lockstep::inline v0
