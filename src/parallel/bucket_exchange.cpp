#include "parallel/bucket_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/trace.hpp>

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

BucketExchange::BucketExchange(Communicator ranks, const SynchronizerOptions& options)
    : ranks_(std::move(ranks)), options_(options) {
  if (options.bucket_bytes <= 0 || options.first_bucket_bytes <= 0)
    throw InvalidUsage("bucket_bytes = " + std::to_string(options.bucket_bytes) +
                       " and first_bucket_bytes = " + std::to_string(options.first_bucket_bytes) +
                       ": both must be positive");
}

std::int64_t BucketExchange::add(std::string name, Tensor gradient) {
  if (committed_) throw InvalidUsage("add " + name + ": the synchronizer is committed already");
  if (!gradient.defined() || !is_floating_point(gradient.dtype()))
    throw InvalidUsage("add " + name + ": a gradient is a floating-point tensor");
  entries_.push_back({std::move(name), std::move(gradient)});
  return entry_count() - 1;
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

void BucketExchange::commit() {
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
    form_flat(buckets_[b]);
  }
  committed_ = true;
  begin_next_step();
}

void BucketExchange::form_flat(Bucket& bucket) {
  std::vector<std::size_t> order = bucket.entries;
  std::erase_if(order, [&](std::size_t i) { return entries_[i].gradient.element_count() == 0; });
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::less<>()(bytes_of(entries_[a].gradient), bytes_of(entries_[b].gradient));
  });
  bucket.packed = false;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Tensor& before = entries_[order[k - 1]].gradient;
    if (bytes_of(before) + before.byte_count() != bytes_of(entries_[order[k]].gradient))
      bucket.packed = true;
  }
  const Tensor& any = entries_[bucket.entries.front()].gradient;
  const Shape shape{bucket.byte_count / byte_size(any.dtype())};
  if (order.empty() || ranks_.size() == 1) {
    bucket.flat = empty(Shape{0}, any.dtype(), any.device());
    bucket.packed = false;
    return;
  }
  if (bucket.packed) {
    bucket.flat = empty(shape, any.dtype(), any.device());
    return;
  }
  const Tensor& first = entries_[order.front()].gradient;
  bucket.flat = make_tensor(
      part_of(bytes_of(first), bucket.byte_count, first.device(), first.impl()->storage), shape,
      first.dtype());
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
  entry.ready = true;
  ++ready_count_;
  --buckets_[entry.bucket].missing;
  if (ranks_.size() == 1) {
    // Without samples the average is exactly zero, also of a NaN.
    if (options_.averaging == Averaging::weighted && samples_ == 0) entry.gradient.fill(0);
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

void BucketExchange::ready_as_zero(std::int64_t id) {
  gradient(id).fill(0);
  ready(id);
}

void BucketExchange::launch(Bucket& bucket) {
  if (options_.averaging == Averaging::weighted) weigh(bucket);
  if (bucket.packed) copy_in(bucket);
  if (bucket.flat.element_count() == 0) return;
  bucket.work = ranks_.all_reduce(bucket.flat, ReduceOp::sum, options_.order);
  ++counters_.collectives;
  counters_.bytes_reduced += bucket.flat.byte_count();
}

void BucketExchange::weigh(Bucket& bucket) {
  if (!sample_sum_.defined()) {
    sample_sum_ = full(Shape{}, samples_, DType::float64);
    sample_work_ = ranks_.all_reduce(sample_sum_, ReduceOp::sum, SumOrder::ranks);
  }
  for (std::size_t i : bucket.entries) {
    Tensor& gradient = entries_[i].gradient;
    if (samples_ == 0) {
      gradient.fill(0);  // whatever was there, a NaN of an empty mean included
    } else if (samples_ != 1) {
      scale_gradient(gradient, samples_);
    }
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
  counters_.bytes_copied += offset;
}

void BucketExchange::copy_out(Bucket& bucket) {
  std::int64_t offset = 0;
  for (std::size_t i : bucket.entries) {
    Tensor& gradient = entries_[i].gradient;
    backend_of(gradient).memory.copy(gradient.mutable_raw_data(), bytes_of(bucket.flat) + offset,
                                     gradient.byte_count(), queue_of(gradient));
    offset += gradient.byte_count();
  }
  counters_.bytes_copied += offset;
}

std::string BucketExchange::missing() const {
  constexpr int kNamed = 5;
  std::string text;
  std::int64_t count = 0;
  for (const Entry& entry : entries_) {
    if (entry.ready) continue;
    if (++count <= kNamed) text += (count == 1 ? "" : ", ") + entry.name;
  }
  if (count > kNamed) text += " and " + std::to_string(count - kNamed) + " more";
  return text;
}

double BucketExchange::average_factor() {
  const int ranks = ranks_.size();
  if (options_.averaging == Averaging::sum) return 1;
  if (options_.averaging == Averaging::mean) return 1.0 / ranks;
  if (ranks == 1) return samples_ == 0 ? 0 : 1;
  if (buckets_.empty() || !sample_sum_.defined()) return 1;
  sample_work_.wait();
  const double sum = sample_sum_.item<double>();
  return sum == 0 ? 0 : 1 / sum;
}

double BucketExchange::finish() {
  for (Bucket& bucket : buckets_) {
    const TraceSpan span("communication", "wait for a bucket", bucket.flat.byte_count());
    bucket.work.wait();
    if (bucket.packed) copy_out(bucket);
  }
  const double factor = average_factor();
  ++counters_.steps;
  ranks_.set_step(counters_.steps);
  begin_next_step();
  return factor;
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
  samples_ = 1;
  sample_sum_ = {};
  sample_work_ = {};
}

}  // namespace lockstep::inline v0::detail
