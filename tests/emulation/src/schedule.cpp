#include "emulation/src/schedule.hpp"

#include <algorithm>
#include <limits>

namespace emulation {

Schedule::Schedule(std::vector<Point> targets) : targets_(std::move(targets)) {
  const Lock lock(state().mutex);
  for (const Point& target : targets_) need(target);
  order_ = static_cast<Order>(state().random.below(3));
  allow_others();
}

// The stream up to the point, and whatever its entries wait for.
void Schedule::need(const Point& point) {
  const std::uint64_t seen = std::max(needed_[point.stream], point.stream->done);
  if (point.position <= seen) return;
  needed_[point.stream] = point.position;
  const std::deque<Entry>& queue = point.stream->queue;
  for (std::uint64_t at = seen; at < point.position; ++at) {
    for (const Point& earlier : queue[at - point.stream->done].after) need(earlier);
  }
}

void Schedule::allow_others() {
  for (const StreamRef& stream : all_streams()) {
    const std::uint64_t beyond = tail_of(stream).position - stream->done;
    const std::uint64_t choice = state().random.below(3);
    if (choice == 0) continue;
    others_[stream] = choice == 1 ? state().random.below(beyond + 1) : beyond;
  }
}

bool Schedule::reached() const {
  return std::all_of(targets_.begin(), targets_.end(),
                     [](const Point& target) { return target.reached(); });
}

bool Schedule::needed(const StreamRef& stream) const {
  const auto found = needed_.find(stream);
  return found != needed_.end() && stream->done < found->second;
}

bool Schedule::may_run(const StreamRef& stream) const {
  if (stream->queue.empty()) return false;
  if (std::find(stalled_.begin(), stalled_.end(), stream) != stalled_.end()) return false;
  const std::vector<Point>& after = stream->queue.front().after;
  if (!std::all_of(after.begin(), after.end(), [](const Point& p) { return p.reached(); })) {
    return false;
  }
  if (everything_ || needed(stream)) return true;
  const auto other = others_.find(stream);
  return other != others_.end() && other->second > 0;
}

StreamRef Schedule::choose() {
  std::vector<StreamRef> candidates;
  for (const StreamRef& stream : all_streams()) {
    if (may_run(stream)) candidates.push_back(stream);
  }
  if (candidates.empty()) return nullptr;
  if (order_ != Order::mixed) {
    const bool first = order_ == Order::needed_first;
    const auto middle =
        std::stable_partition(candidates.begin(), candidates.end(),
                              [&](const StreamRef& stream) { return needed(stream) == first; });
    if (middle != candidates.begin()) candidates.erase(middle, candidates.end());
  }
  return candidates[state().random.below(candidates.size())];
}

// False if it waits for a peer.
bool Schedule::run_head(const StreamRef& stream) {
  std::unique_lock lock(state().mutex);
  // The entry stays where it is while others are appended: only this thread takes entries away.
  Operation* operation = stream->queue.front().operation.get();
  if (operation != nullptr && state().sticky_error == cudaSuccess) {
    lock.unlock();
    this_thread().in_operation = true;
    const Progress progress = operation->run();
    this_thread().in_operation = false;
    lock.lock();
    if (progress == Progress::waiting) return false;
  }
  const auto other = others_.find(stream);
  if (!needed(stream) && other != others_.end() && other->second > 0) --other->second;
  const Entry finished = std::move(stream->queue.front());
  stream->queue.pop_front();
  ++stream->done;
  return true;
}

Schedule::Result Schedule::advance(std::uint64_t limit) {
  stalled_.clear();
  while (limit-- > 0) {
    StreamRef stream;
    {
      const Lock lock(state().mutex);
      if (reached() && order_ == Order::mixed) return Result::reached;
      stream = choose();
      if (stream == nullptr && stalled_.empty()) everything_ = false;
      if (stream == nullptr) return reached() ? Result::reached : Result::waiting;
    }
    if (!run_head(stream)) {
      stalled_.push_back(stream);
      everything_ = true;
    }
  }
  const Lock lock(state().mutex);
  return reached() ? Result::reached : Result::limited;
}

}  // namespace emulation
