#include "parallel/bucket_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/trace.hpp>

#include "backend/capture.hpp"
#include "comm/communicator_backend.hpp"
#include "core/tensor_impl.hpp"
#include "parallel/scale_gradient.hpp"

namespace lockstep::inline v0::detail {

namespace {

std::byte* bytes_of(const Tensor& tensor) { return static_cast<std::byte*>(tensor.impl()->data()); }

const char* averaging_name(Averaging averaging) {
  switch (averaging) {
    case Averaging::mean:
      return "mean";
    case Averaging::sum:
      return "sum";
    case Averaging::weighted:
      return "weighted";
  }
  return "?";
}

}  // namespace

BucketExchange::BucketExchange(Communicator ranks, const SynchronizerOptions& options,
                               bool caller_averages)
    : ranks_(std::move(ranks)), options_(options), caller_averages_(caller_averages) {
  if (options.bucket_bytes <= 0 || options.first_bucket_bytes <= 0)
    throw InvalidUsage("bucket_bytes = " + std::to_string(options.bucket_bytes) +
                       " and first_bucket_bytes = " + std::to_string(options.first_bucket_bytes) +
                       ": both must be positive");
}

BucketExchange::~BucketExchange() {
  for (const Bucket& bucket : buckets_)
    if (bucket.flat.defined() && bucket.flat.element_count() > 0)
      ranks_.backend()->forget_memory(bucket.flat.device(), bytes_of(bucket.flat));
}

std::int64_t BucketExchange::add(std::string name, Tensor gradient) {
  if (committed_) throw InvalidUsage("add " + name + ": the synchronizer is committed already");
  if (!gradient.defined() || !is_floating_point(gradient.dtype()))
    throw InvalidUsage("add " + name + ": a gradient is a floating-point tensor");
  if (gradient.impl()->storage->read_only)
    throw InvalidUsage("add " + name + ": it borrows memory that must not be written to");
  const bool wide = gradient.dtype() == DType::float32 || gradient.dtype() == DType::float64;
  if (options_.averaging == Averaging::weighted && !wide)
    throw InvalidUsage("add " + name + ": Averaging::weighted takes float32 and float64, not " +
                       lockstep::name(gradient.dtype()) +
                       ", which weights would overflow or round");
  entries_.push_back({std::move(name), std::move(gradient)});
  return entry_count() - 1;
}

std::int64_t BucketExchange::add_words(Tensor words) {
  const std::int64_t id = add("words of the step", std::move(words));
  entries_.back().scaled = false;
  return id;
}

std::vector<std::string> BucketExchange::description() const {
  std::vector<std::string> lines;
  lines.push_back("options bucket_bytes " + std::to_string(options_.bucket_bytes) +
                  ", first_bucket_bytes " + std::to_string(options_.first_bucket_bytes) +
                  ", averaging " + averaging_name(options_.averaging) + ", order " +
                  (options_.order == SumOrder::ranks ? "ranks" : "fastest"));
  for (const Entry& entry : entries_) lines.push_back(entry.name + " " + describe(entry.gradient));
  return lines;
}

/// Gradients in the same memory would be exchanged, and divided, twice.
void BucketExchange::check_memory() const {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries_)
    if (entry.gradient.element_count() > 0) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return std::less<>()(bytes_of(a->gradient), bytes_of(b->gradient));
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Tensor& before = order[i - 1]->gradient;
    if (bytes_of(before) + before.byte_count() > bytes_of(order[i]->gradient))
      throw InvalidUsage("gradients " + order[i - 1]->name + " and " + order[i]->name +
                         " lie in the same memory; add it once");
  }
}

BucketExchange::Bucket* BucketExchange::last_bucket_of(const Tensor& like) {
  const auto it = std::find_if(buckets_.rbegin(), buckets_.rend(), [&](const Bucket& bucket) {
    const Tensor& gradient = entries_[bucket.entries.front()].gradient;
    return gradient.dtype() == like.dtype() && gradient.device() == like.device();
  });
  return it == buckets_.rend() ? nullptr : &*it;
}

void BucketExchange::commit() {
  check_memory();
  struct Open {
    DType dtype;
    Device device;
    Bucket bucket;
  };
  std::vector<Open> open;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Tensor& gradient = entries_[i].gradient;
    auto it = std::find_if(open.begin(), open.end(), [&](const Open& candidate) {
      return candidate.dtype == gradient.dtype() && candidate.device == gradient.device();
    });
    if (it == open.end()) it = open.insert(it, {gradient.dtype(), gradient.device(), {}});
    // The words of the step travel with the last bucket, however full that is.
    if (!entries_[i].scaled && it->bucket.entries.empty())
      if (Bucket* last = last_bucket_of(gradient)) {
        last->entries.push_back(i);
        last->byte_count += gradient.byte_count();
        continue;
      }
    it->bucket.entries.push_back(i);
    it->bucket.byte_count += gradient.byte_count();
    const std::int64_t limit =
        buckets_.empty() ? options_.first_bucket_bytes : options_.bucket_bytes;
    if (it->bucket.byte_count < limit) continue;
    buckets_.push_back(std::exchange(it->bucket, {}));
  }
  for (Open& rest : open)
    if (!rest.bucket.entries.empty()) buckets_.push_back(std::move(rest.bucket));
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (std::size_t i : buckets_[b].entries) entries_[i].bucket = b;
    buckets_[b].layout = layout_of(buckets_[b]);
  }
  agree_on_layouts();
  for (Bucket& bucket : buckets_) {
    form_flat(bucket);
    if (bucket.flat.element_count() > 0)
      ranks_.backend()->register_memory(bucket.flat.device(), bytes_of(bucket.flat),
                                        bucket.flat.byte_count());
  }
  committed_ = true;
  begin_next_step();
}

BucketExchange::Layout BucketExchange::layout_of(const Bucket& bucket) const {
  bool by_add = true;
  bool by_reverse_add = true;
  const Tensor* before = nullptr;
  for (std::size_t i : bucket.entries) {
    const Tensor& gradient = entries_[i].gradient;
    if (gradient.element_count() == 0) continue;
    if (before != nullptr) {
      const bool follows = bytes_of(*before) + before->byte_count() == bytes_of(gradient);
      const bool precedes = bytes_of(gradient) + gradient.byte_count() == bytes_of(*before);
      by_reverse_add = by_reverse_add && follows;
      by_add = by_add && precedes;
    }
    before = &gradient;
  }
  return by_reverse_add ? Layout::by_reverse_add : by_add ? Layout::by_add : Layout::packed;
}

/// Memory is every rank's own affair, but what is summed must lie in the same order on all.
void BucketExchange::agree_on_layouts() {
  if (ranks_.size() == 1) return;
  std::string own;
  for (const Bucket& bucket : buckets_) own += static_cast<char>(bucket.layout);
  for (const std::string& other : ranks_.gather_bytes(own))
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (other[b] != own[b]) buckets_[b].layout = Layout::packed;
}

void BucketExchange::form_flat(Bucket& bucket) {
  const Tensor* first = nullptr;
  for (std::size_t i : bucket.entries) {
    const Tensor& gradient = entries_[i].gradient;
    if (gradient.element_count() == 0) continue;
    if (first == nullptr || std::less<>()(bytes_of(gradient), bytes_of(*first))) first = &gradient;
  }
  const Tensor& any = entries_[bucket.entries.front()].gradient;
  if (first == nullptr || ranks_.size() == 1) {
    bucket.flat = empty(Shape{0}, any.dtype(), any.device());
    bucket.layout = Layout::by_add;
    return;
  }
  const Shape shape{bucket.byte_count / byte_size(any.dtype())};
  bucket.flat = bucket.layout == Layout::packed
                    ? empty(shape, any.dtype(), any.device())
                    : make_tensor(part_of(bytes_of(*first), bucket.byte_count, first->device(),
                                          first->impl()->storage),
                                  shape, first->dtype());
}

void BucketExchange::set_sample_count(double samples) {
  if (!(samples >= 0) || std::isinf(samples))
    throw InvalidUsage("set_sample_count: " + std::to_string(samples) + " is no number of samples");
  if (options_.averaging != Averaging::weighted)
    throw InvalidUsage("set_sample_count: only with Averaging::weighted");
  if (begun())
    throw InvalidUsage("set_sample_count: call it before the first gradient of the step is ready");
  samples_ = samples;
}

void BucketExchange::ready(std::int64_t id) {
  if (!committed_) throw InvalidUsage("ready: commit() comes first");
  if (id < 0 || id >= entry_count())
    throw InvalidUsage("ready: there is no gradient " + std::to_string(id));
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[static_cast<std::size_t>(id)];
  if (entry.ready)
    throw InvalidUsage("gradient " + entry.name +
                       " became ready twice in one step; finish the step first, or accumulate "
                       "under no_sync()");
  if (ready_count_ == 0) prepare_scale();
  entry.ready = true;
  ++ready_count_;
  --buckets_[entry.bucket].missing;
  if (ranks_.size() == 1) {
    if (local_scale_ == 0 && entry.scaled) entry.gradient.fill(0);  // also of a NaN
    return;
  }
  const std::size_t before = next_bucket_;
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0)
    launch(buckets_[next_bucket_++]);
  if (before == next_bucket_ && next_bucket_ > 0) poll_sometimes();
}

/// Thousands of small gradients must not cost a look at the network each.
void BucketExchange::poll_sometimes() {
  constexpr std::chrono::microseconds kInterval{50};
  const auto now = std::chrono::steady_clock::now();
  if (now < next_poll_) return;
  ranks_.poll();
  next_poll_ = now + kInterval;
}

/// The first gradient of a step begins it.
void BucketExchange::prepare_scale() {
  if (options_.averaging != Averaging::weighted || caller_averages_) return;
  if (!samples_)
    throw InvalidUsage("rank " + std::to_string(ranks_.rank()) +
                       ": Averaging::weighted needs set_sample_count() in each step, before the "
                       "first gradient is ready");
  local_scale_ = *samples_;
  if (ranks_.size() == 1) return;
  sample_sum_ = full(Shape{}, *samples_, DType::float64);
  sample_work_ = ranks_.all_reduce(sample_sum_, ReduceOp::sum, SumOrder::ranks);
}

void BucketExchange::ready_as_zero(std::int64_t id) {
  if (!begun() && !samples_) samples_ = 0;
  gradient(id).fill(0);
  ready(id);
}

void BucketExchange::launch(Bucket& bucket) {
  if (local_scale_ != 1) scale(bucket);
  if (bucket.layout == Layout::packed) copy_in(bucket);
  if (bucket.flat.element_count() == 0) return;
  bucket.work = ranks_.all_reduce(bucket.flat, ReduceOp::sum, options_.order);
  ++counters_->collectives;
  counters_->bytes_reduced += bucket.flat.byte_count();
}

void BucketExchange::scale(Bucket& bucket) {
  for (std::size_t i : bucket.entries) {
    Entry& entry = entries_[i];
    if (!entry.scaled) continue;
    if (local_scale_ == 0)
      entry.gradient.fill(0);  // whatever was there, a NaN of an empty mean included
    else
      scale_gradient(entry.gradient, local_scale_);
  }
}

void BucketExchange::copy_in(Bucket& bucket) {
  std::int64_t offset = 0;
  for (std::size_t i : bucket.entries) {
    const Tensor& gradient = entries_[i].gradient;
    backend_of(gradient).memory.copy(bytes_of(bucket.flat) + offset, gradient.raw_data(),
                                     gradient.byte_count(), queue_of(gradient));
    offset += gradient.byte_count();
  }
  counters_->bytes_copied += offset;
}

void BucketExchange::copy_out(Bucket& bucket) {
  std::int64_t offset = 0;
  for (std::size_t i : bucket.entries) {
    Tensor& gradient = entries_[i].gradient;
    backend_of(gradient).memory.copy(gradient.mutable_raw_data(), bytes_of(bucket.flat) + offset,
                                     gradient.byte_count(), queue_of(gradient));
    offset += gradient.byte_count();
  }
  counters_->bytes_copied += offset;
}

std::string BucketExchange::missing() const {
  constexpr int kNamed = 5;
  std::string text;
  std::int64_t count = 0;
  for (const Entry& entry : entries_) {
    if (entry.ready || !entry.scaled) continue;
    if (++count <= kNamed) text += (count == 1 ? "" : ", ") + entry.name;
  }
  if (count > kNamed) text += " and " + std::to_string(count - kNamed) + " more";
  return text;
}

double BucketExchange::average_factor() {
  if (caller_averages_ || options_.averaging == Averaging::sum) return 1;
  if (options_.averaging == Averaging::mean) return 1.0 / ranks_.size();
  if (!sample_sum_.defined()) return 1;  // one rank: its own average
  sample_work_.wait();
  const double sum = sample_sum_.item();
  return sum == 0 ? 0 : 1 / sum;
}

double BucketExchange::finish() {
  for (Bucket& bucket : buckets_) {
    const TraceSpan span("communication", "wait for a bucket", bucket.flat.byte_count());
    bucket.work.wait();
    if (bucket.layout == Layout::packed) copy_out(bucket);
  }
  const double factor = average_factor();
  count_step();
  begin_next_step();
  return factor;
}

/// A capture runs nothing: its replays count.
void BucketExchange::count_step() {
  const auto count = [counters = counters_, ranks = std::weak_ptr(ranks_.backend())] {
    ++counters->steps;
    if (const auto known = ranks.lock()) known->set_step(counters->steps);
  };
  if (backend::Capture* capture = backend::current_capture())
    capture->after_each_time(count);
  else
    count();
}

std::vector<Work> BucketExchange::take_works() {
  std::vector<Work> works;
  for (Bucket& bucket : buckets_) works.push_back(std::exchange(bucket.work, {}));
  return works;
}

void BucketExchange::reset() { begin_next_step(); }

void BucketExchange::begin_next_step() {
  for (Entry& entry : entries_) entry.ready = false;
  for (Bucket& bucket : buckets_) {
    bucket.missing = static_cast<std::int64_t>(bucket.entries.size());
    bucket.work = {};
  }
  ready_count_ = 0;
  next_bucket_ = 0;
  samples_.reset();
  local_scale_ = 1;
  sample_sum_ = {};
  sample_work_ = {};
}

}  // namespace lockstep::inline v0::detail
