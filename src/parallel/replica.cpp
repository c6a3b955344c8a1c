#include <algorithm>
#include <cstring>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "backend/capture.hpp"
#include "parallel/agreement.hpp"
#include "parallel/replica_state.hpp"

namespace lockstep::inline v0 {

namespace detail {

namespace {

std::vector<std::string> description(const ParameterList& parameters,
                                     const std::vector<NamedBuffer>& buffers,
                                     const std::vector<std::string>& options) {
  std::vector<std::string> lines = options;
  for (const auto& [name, parameter] : parameters)
    lines.push_back("parameter " + name + " " + describe(parameter.value()) +
                    (parameter.frozen() ? " frozen" : ""));
  for (const auto& [name, buffer] : buffers)
    lines.push_back("buffer " + name + " " + describe(buffer->value()));
  return lines;
}

/// The step as it is exchanged: a number that stays exact when it is summed in any dtype.
constexpr std::int64_t kStepNumbers = 1024;

}  // namespace

ReplicaState::ReplicaState(ParameterList list, const std::vector<NamedBuffer>& buffers,
                           const Communicator& ranks, Device on, const DataParallelOptions& options)
    : parameters(std::move(list)),
      device(on),
      exchange(ranks.duplicate(),
               {.bucket_bytes = options.bucket_bytes,
                .first_bucket_bytes = options.first_bucket_bytes,
                .averaging = options.averaging,
                .order = options.order},
               /*caller_averages=*/true),
      averaging_(options.averaging) {
  check_agreement(exchange.ranks(), "the model",
                  description(parameters, buffers, exchange.description()));
  pack_parameters();
  copy_from_rank_0(buffers);
  register_gradients();
  for (const auto& arena : arenas_) arena->listener = this;
}

ReplicaState::~ReplicaState() {
  abandon_exchange();
  for (const auto& arena : arenas_)
    if (arena->listener == this) arena->listener = nullptr;
}

/// The next user of the arena has to wait for what is in flight there.
void ReplicaState::abandon_exchange() {
  if (exchange.ranks().size() == 1 || !exchange.begun()) return;
  const std::vector<Work> works = exchange.take_works();
  for (const auto& arena : arenas_)
    if (arena->listener == this)
      arena->abandoned = [works] {
        for (Work work : works) work.wait();
      };
}

void ReplicaState::pack_parameters() {
  if (parameters.empty()) throw InvalidUsage("DataParallel: the model has no parameters");
  arenas_ = pack(parameters, device);
  std::size_t packed = 0;
  for (const auto& arena : arenas_) {
    if (arena->listener != nullptr)
      throw InvalidUsage("DataParallel: parameter " + arena->entries.front().name +
                         " belongs to another replica already");
    arena->clear_abandoned();
    packed += arena->entries.size();
  }
  if (packed != parameters.size())
    throw InvalidUsage(
        "DataParallel: its parameters share an arena with parameters of another model, because an "
        "optimizer over both was made first; make the replicas before the optimizer");
}

void ReplicaState::copy_from_rank_0(const std::vector<NamedBuffer>& buffers) {
  const Communicator& ranks = exchange.ranks();
  std::vector<Work> works;
  for (const auto& arena : arenas_) {
    works.push_back(ranks.broadcast(arena->values, 0));
    for (const ArenaEntry& entry : arena->entries) ++entry.value->version;
  }
  for (const auto& [name, buffer] : buffers) {
    buffer->assign(buffer->value().to(device));
    works.push_back(ranks.broadcast(buffer->value(), 0));
  }
  for (Work& work : works) work.wait();
}

void ReplicaState::register_gradients() {
  const Arena& first = *arenas_.front();
  words_ = slice_of(first.gradients, first.words_begin, 64 / byte_size(first.dtype()));
  words_id_ = exchange.add_words(words_);
  for (const auto& arena : arenas_) ids_.emplace_back(arena->entries.size(), -1);
  for (const auto& [name, parameter] : parameters) {
    const Leaf& leaf = *parameter.value().impl()->leaf;
    if (!leaf.enabled) continue;
    const auto it = std::find_if(arenas_.begin(), arenas_.end(),
                                 [&](const auto& arena) { return arena.get() == leaf.arena; });
    const ArenaEntry& entry = leaf.arena->entries[leaf.arena_index];
    // With its padding, so that neighbours are adjacent.
    const Tensor place =
        slice_of(leaf.arena->gradients, entry.begin, entry.padded_end - entry.begin);
    ids_[static_cast<std::size_t>(it - arenas_.begin())][leaf.arena_index] =
        exchange.add(name, place);
  }
  exchange.commit();
}

template <class Function>
void ReplicaState::for_each_entry(Function function) {
  for (std::size_t a = 0; a < arenas_.size(); ++a)
    for (std::size_t i = 0; i < ids_[a].size(); ++i)
      if (ids_[a][i] >= 0) function(arenas_[a]->entries[i], ids_[a][i]);
}

void ReplicaState::begin_backward() {
  if (broken_)
    throw InvalidUsage(
        "backward: an earlier backward of this replica ended with an exception after gradients "
        "had been handed to the exchange");
  if (exchange.begun() && exchange.complete()) finish_exchange();
  prepare_base();
}

bool ReplicaState::any_filled() const {
  return std::any_of(arenas_.begin(), arenas_.end(),
                     [](const auto& arena) { return arena->any_filled(); });
}

/// What a new backward adds to must be final, and must survive the coming exchange as it is.
void ReplicaState::prepare_base() {
  const bool shrink = base_is_average_ && averaging_ == Averaging::sum;
  for (const auto& arena : arenas_) {
    if (shrink) arena->factor /= exchange.ranks().size();
    if (arena->scaled() && arena->any_filled()) arena->apply_factors();
    arena->forget_factors();
  }
  base_present_ = any_filled() && (base_present_ || base_is_average_);
  base_is_average_ = false;
}

void ReplicaState::begin_exchange() {
  if (exchange.begun()) return;
  frozen_ = 0;
  if (averaging_ != Averaging::weighted) return;
  if (!samples_)
    throw InvalidUsage("rank " + std::to_string(exchange.ranks().rank()) +
                       ": Averaging::weighted needs set_sample_count() in each step");
  exchange.set_local_scale(*samples_ / divisor_);
}

void ReplicaState::ready(Arena& arena, std::size_t index) {
  const auto it = std::find_if(arenas_.begin(), arenas_.end(),
                               [&](const auto& own) { return own.get() == &arena; });
  const std::int64_t id = ids_[static_cast<std::size_t>(it - arenas_.begin())][index];
  if (id < 0)
    throw InvalidUsage("parameter " + arena.entries[index].name +
                       " was frozen when the replica was made and takes no part in the exchange; "
                       "unfreeze it before that");
  if (!synchronizing) return;
  begin_exchange();
  exchange.ready(id);
}

void ReplicaState::end_backward() {
  if (!synchronizing) return;
  begin_exchange();
  // What an earlier backward of the window touched, and what was frozen since, in the order of the
  // arena.
  for_each_entry([&](const ArenaEntry& entry, std::int64_t id) {
    if (exchange.is_ready(id)) return;
    if (entry.leaf == nullptr || !entry.leaf->enabled) {
      if (entry.leaf != nullptr) entry.leaf->clear();
      ++frozen_;
      exchange.ready_as_zero(id);
    } else if (entry.filled()) {
      exchange.ready(id);
    }
  });
  hand_over_words();
}

void ReplicaState::hand_over_words() {
  if (!exchange.lacks_only(words_id_)) return;
  // One rank alone takes its gradients as they are, and does not multiply them by its samples.
  const bool by_samples = averaging_ == Averaging::weighted && exchange.ranks().size() > 1;
  const double weight = by_samples ? *samples_ : divisor_;
  const auto values = [weight, frozen = static_cast<double>(frozen_), dtype = words_.dtype(),
                       counters = exchange.shared_counters()] {
    const auto step = static_cast<double>(counters->steps % kStepNumbers);
    return tensor({weight, frozen, step}, {3}).to(dtype);
  };
  backend::Memory& memory = backend_of(words_).memory;
  if (backend::Capture* capture = backend::current_capture()) {
    // Each replay tells its own step.
    const std::int64_t byte_count = 3 * byte_size(words_.dtype());
    const void* table = capture->upload_each_time(byte_count, [values](std::byte* bytes) {
      const Tensor now = values();
      std::memcpy(bytes, now.raw_data(), static_cast<std::size_t>(now.byte_count()));
    });
    memory.copy(words_.mutable_raw_data(), table, byte_count, queue_of(words_));
  } else {
    const Tensor now = values();
    memory.copy_from_host(words_.mutable_raw_data(), now.raw_data(), now.byte_count(),
                          queue_of(words_));
  }
  exchange.ready(words_id_);
}

void ReplicaState::abandon_backward() noexcept {
  if (exchange.ranks().size() == 1)
    exchange.reset();
  else
    broken_ = broken_ || exchange.begun();
}

void ReplicaState::wait() {
  if (!exchange.begun()) return;
  if (broken_)
    throw InvalidUsage(
        "the backward of this step ended with an exception; its gradients cannot be used");
  if (!exchange.complete())
    throw InvalidUsage("rank " + std::to_string(exchange.ranks().rank()) + ", step " +
                       std::to_string(exchange.counters().steps + 1) +
                       ": no gradient for parameter " + exchange.missing() +
                       "; every parameter must take part in a backward of the step, be frozen, or "
                       "be completed with synchronize()");
  finish_exchange();
}

void ReplicaState::finish_exchange() {
  const std::int64_t step = step_number();
  exchange.finish();
  set_average_factor(step);
  samples_.reset();
  divisor_ = 1;
  base_is_average_ = true;
}

std::int64_t ReplicaState::step_number() const { return exchange.counters().steps % kStepNumbers; }

void ReplicaState::set_average_factor(std::int64_t step) {
  if (backend_of(words_).host_reads) {
    const double factor = average_factor(step);
    for (const auto& arena : arenas_) arena->factor = factor;
    return;
  }
  // The sums are on the device; nobody waits for them.
  const int ranks = exchange.ranks().size();
  auto& scalars = backend_of(words_).scalars;
  const backend::Queue queue = queue_of(words_);
  const auto word = [&](std::int64_t i) { return slice_of(words_, i, 1).raw_data(); };
  scalars.report_unequal(words_.dtype(), word(1), static_cast<double>(frozen_) * ranks,
                         backend::Problem::frozen_differently, queue);
  // A recording knows no step to compare with; those who run the step without one do.
  if (backend::current_capture() == nullptr)
    scalars.report_unequal(words_.dtype(), word(2), static_cast<double>(step) * ranks,
                           backend::Problem::other_step, queue);
  Tensor factor = empty(Shape{}, DType::float64, device);
  scalars.quotient(words_.dtype(), word(0), averaging_ == Averaging::sum ? ranks : 1,
                   static_cast<double*>(factor.mutable_raw_data()), queue);
  const auto set = [arenas = arenas_, factor] {
    for (const auto& arena : arenas) {
      arena->factor = 1;
      arena->device_factor = factor;
    }
  };
  set();
  if (backend::Capture* capture = backend::current_capture()) capture->after_each_time(set);
}

double ReplicaState::average_factor(std::int64_t step) const {
  const auto words = slice_of(words_, 0, 3).to_vector<double>();  // summed over the ranks
  const int ranks = exchange.ranks().size();
  if (words[2] != static_cast<double>(step) * ranks)
    throw InvalidUsage("rank " + std::to_string(exchange.ranks().rank()) + ", step " +
                       std::to_string(exchange.counters().steps) + ": " +
                       backend::text_of(backend::Problem::other_step));
  if (words[1] != static_cast<double>(frozen_) * ranks)
    throw InvalidUsage("rank " + std::to_string(exchange.ranks().rank()) + " froze " +
                       std::to_string(frozen_) +
                       " parameters since the replica was made, the others did not do the same; "
                       "freeze on all ranks in the same step");
  if (averaging_ == Averaging::weighted) return words[0] == 0 ? 0 : 1 / words[0];
  return (averaging_ == Averaging::sum ? ranks : 1) / words[0];
}

void ReplicaState::set_sample_count(double samples) {
  if (exchange.complete()) wait();  // the step before is over
  exchange.set_sample_count(samples);
  samples_ = samples;
}

void ReplicaState::set_divisor(double divisor) {
  if (!(divisor > 0))
    throw InvalidUsage("set_divisor: " + std::to_string(divisor) + " is not positive");
  if (exchange.complete()) wait();
  if (divisor != 1 && any_filled() && (base_present_ || base_is_average_))
    throw InvalidUsage(
        "set_divisor: the gradients hold the average of an earlier exchange, which would be "
        "divided again; zero them first");
  divisor_ = divisor;
}

void ReplicaState::synchronize() {
  if (exchange.complete()) finish_exchange();
  if (!exchange.begun()) prepare_base();
  if (averaging_ == Averaging::weighted && !samples_ && !any_filled()) samples_ = 0;
  begin_exchange();
  for_each_entry([&](const ArenaEntry& entry, std::int64_t id) {
    if (exchange.is_ready(id)) return;
    if (entry.filled() && entry.leaf->enabled) {
      exchange.ready(id);
      return;
    }
    if (entry.leaf != nullptr && entry.leaf->enabled)
      entry.leaf->mark_filled();
    else
      ++frozen_;
    exchange.ready_as_zero(id);
  });
  hand_over_words();
}

}  // namespace detail

Replica::NoSync::NoSync(Replica& replica) noexcept
    : replica_(&replica), before_(std::exchange(replica.state_->synchronizing, false)) {}
Replica::NoSync::~NoSync() { replica_->state_->synchronizing = before_; }

Replica::Replica(ParameterList parameters, std::vector<detail::NamedBuffer> buffers,
                 const Communicator& ranks, Device device, const DataParallelOptions& options)
    : state_(std::make_unique<detail::ReplicaState>(std::move(parameters), buffers, ranks, device,
                                                    options)) {}
Replica::Replica(Replica&&) noexcept = default;
Replica& Replica::operator=(Replica&&) noexcept = default;
Replica::~Replica() = default;

const ParameterList& Replica::parameters() const noexcept { return state_->parameters; }
const Communicator& Replica::ranks() const noexcept { return state_->exchange.ranks(); }
Device Replica::device() const noexcept { return state_->device; }
void Replica::set_sample_count(double samples) { state_->set_sample_count(samples); }
void Replica::synchronize() { state_->synchronize(); }
void Replica::set_divisor(double divisor) { state_->set_divisor(divisor); }
bool Replica::synchronizing() const noexcept { return state_->synchronizing; }
void Replica::wait() { state_->wait(); }
const SynchronizerCounters& Replica::counters() const noexcept {
  return state_->exchange.counters();
}
std::int64_t Replica::bucket_count() const noexcept { return state_->exchange.bucket_count(); }

}  // namespace lockstep::inline v0
