#include <lockstep/parallel/gradient_synchronizer.hpp>

#include <atomic>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>

#include "backend/backend.hpp"
#include "backend/capture.hpp"
#include "parallel/agreement.hpp"
#include "parallel/bucket_exchange.hpp"
#include "parallel/scale_gradient.hpp"

namespace lockstep::inline v0 {

namespace detail {

namespace {

/// While it lives, this thread's operations on the device run on lockstep's own stream: gradients
/// of one bucket may become ready on several streams, and their exchange comes after one.
class OwnStream {
 public:
  explicit OwnStream(int index) : index_(index), before_(backend::set_cuda_queue(index, {})) {}
  ~OwnStream() { backend::set_cuda_queue(index_, before_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  void come_after(void* stream) const {
    backend::cuda_order(index_, backend::cuda_current_queue(index_), {stream});
  }
  void come_before(void* stream) const {
    backend::cuda_order(index_, {stream}, backend::cuda_current_queue(index_));
  }

 private:
  int index_;
  backend::ChosenQueue before_;
};

}  // namespace

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

  /// Gradients of one bucket may come from threads that have streams of their own.
  void ready(std::int64_t id) {
    if (backend::current_capture() == nullptr && exchange.committed() && id >= 0 &&
        id < exchange.entry_count())
      if (const Device device = exchange.gradient(id).device(); device.kind == DeviceKind::cuda)
        return ready(id, backend::current_queue(device).stream);
    exchange.ready(id);
  }

  void ready(std::int64_t id, void* stream) {
    if (!exchange.committed() || id < 0 || id >= exchange.entry_count())
      return exchange.ready(id);  // says what is wrong
    const Device device = exchange.gradient(id).device();
    if (device.kind != DeviceKind::cuda)
      throw InvalidUsage("ready: gradient " + std::to_string(id) + " is on " + to_string(device) +
                         ", where there are no streams; call ready(id)");
    const OwnStream own(device.index);
    own.come_after(stream);
    exchange.ready(id);
  }

  /// Runs finish or finish_without_rest on lockstep's own streams, and what is queued on the
  /// program's comes after that. `writes`: gradients that the program did not order are written to.
  template <class Finish>
  void on_stream(void* stream, bool writes, const Finish& finish) {
    std::vector<std::unique_ptr<OwnStream>> streams;
    for (const int index : device_indexes()) {
      streams.push_back(std::make_unique<OwnStream>(index));
      if (writes) streams.back()->come_after(stream);
    }
    if (streams.empty() && exchange.committed())
      throw InvalidUsage("finish: no gradient is on a device with streams; call it without one");
    finish();
    for (const auto& own : streams) own->come_before(stream);
  }

  /// Runs a part of a step. What breaks off in the middle leaves this rank out of step with the
  /// others, for good.
  template <class Part>
  void attempt(const Part& part) {
    if (broken_)
      throw InvalidUsage(
          "the synchronizer broke off in a step; make a new one, on every rank of its group");
    try {
      part();
    } catch (const InvalidUsage&) {  // nothing was begun
      throw;
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  BucketExchange exchange;

 private:
  std::atomic<bool> broken_ = false;

  std::set<int> device_indexes() {
    std::set<int> indexes;
    for (std::int64_t id = 0; id < exchange.entry_count(); ++id)
      if (const Device device = exchange.gradient(id).device(); device.kind == DeviceKind::cuda)
        indexes.insert(device.index);
    return indexes;
  }

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
void GradientSynchronizer::ready(std::int64_t id) {
  state_->attempt([&] { state_->ready(id); });
}
void GradientSynchronizer::ready(std::int64_t id, void* stream) {
  state_->attempt([&] { state_->ready(id, stream); });
}
void GradientSynchronizer::finish_without_rest() {
  state_->attempt([&] { state_->finish_without_rest(); });
}
void GradientSynchronizer::finish_without_rest(void* stream) {
  state_->attempt(
      [&] { state_->on_stream(stream, true, [this] { state_->finish_without_rest(); }); });
}
void GradientSynchronizer::finish() {
  state_->attempt([&] { state_->finish(); });
}
void GradientSynchronizer::finish(void* stream) {
  state_->attempt([&] { state_->on_stream(stream, false, [this] { state_->finish(); }); });
}
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
