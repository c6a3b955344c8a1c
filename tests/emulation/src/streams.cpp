#include "emulation/src/streams.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>

#include "emulation/src/graph.hpp"
#include "emulation/src/memory.hpp"
#include "emulation/src/schedule.hpp"

namespace emulation {
namespace {

constexpr std::size_t kLongQueue = 1024;  // entries; a device takes about as many before it blocks
constexpr auto kPause = std::chrono::microseconds(20);
constexpr auto kPatience = std::chrono::milliseconds(5);

struct Streams {
  std::vector<StreamRef> all;              // by age
  std::set<const CUstream_st*> destroyed;  // still in all, because they have work
  std::map<int, StreamRef> defaults;       // legacy default streams, by device
  std::set<CUevent_st*> events;
  int queries_without_work = 0;
  std::atomic<bool> peers_pending = false;
  std::atomic<std::int64_t> last_advance = 0;  // steady clock, nanoseconds
};

Streams& streams() {
  static auto* the_streams = new Streams;
  return *the_streams;
}

void forget_finished() {
  auto& all = streams().all;
  auto& destroyed = streams().destroyed;
  if (destroyed.empty()) return;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const StreamRef& stream) {
                             return stream->queue.empty() && destroyed.erase(stream.get()) > 0;
                           }),
            all.end());
}

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

StreamRef default_stream(int device) {
  StreamRef& stream = streams().defaults[device];
  if (stream == nullptr) {
    stream = std::make_shared<CUstream_st>();
    stream->device = device;
    stream->legacy = true;
    streams().all.push_back(stream);
  }
  return stream;
}

// Drives operations that other processes wait for, while the host does something else.
class ProgressThread {
 public:
  ProgressThread() : thread_([this] { run(); }) {}
  ~ProgressThread() {
    stop_ = true;
    thread_.join();
  }

 private:
  void run() {
    while (!stop_) {
      std::this_thread::sleep_for(kPatience);
      const auto idle = std::chrono::nanoseconds(now() - streams().last_advance);
      if (streams().peers_pending && idle >= kPatience) run_ahead();
    }
  }

  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

bool work_left() {
  const Lock lock(state().mutex);
  return std::any_of(streams().all.begin(), streams().all.end(),
                     [](const StreamRef& stream) { return !stream->queue.empty(); });
}

Schedule::Result advance(Schedule& schedule, std::uint64_t limit) {
  {
    const Lock lock(state().mutex);
    open_device_memory();
  }
  const Schedule::Result result = schedule.advance(limit);
  streams().last_advance = now();
  const Lock lock(state().mutex);
  close_device_memory();
  forget_finished();
  if (!work_left()) streams().peers_pending = false;
  return result;
}

}  // namespace

const std::vector<StreamRef>& all_streams() { return streams().all; }

StreamRef create_stream(unsigned int flags, int priority) {
  auto stream = std::make_shared<CUstream_st>();
  stream->device = this_thread().device;
  stream->flags = flags;
  stream->priority = priority;
  streams().all.push_back(stream);
  return stream;
}

void destroy_stream(const StreamRef& stream) {
  streams().destroyed.insert(stream.get());
  forget_finished();
}

std::int64_t stream_count() {
  return static_cast<std::int64_t>(streams().all.size() - streams().destroyed.size() -
                                   streams().defaults.size());
}

StreamRef find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return default_stream(this_thread().device);
  if (streams().destroyed.count(handle) > 0) return nullptr;
  for (const StreamRef& stream : streams().all) {
    if (stream.get() == handle) return stream;
  }
  return nullptr;
}

CUevent_st* find_event(cudaEvent_t handle) {
  return streams().events.count(handle) > 0 ? handle : nullptr;
}

void add_event(CUevent_st* event) { streams().events.insert(event); }
void remove_event(CUevent_st* event) { streams().events.erase(event); }
std::int64_t event_count() { return static_cast<std::int64_t>(streams().events.size()); }

Point tail_of(const StreamRef& stream) { return {stream, stream->done + stream->queue.size()}; }

std::vector<Point> tails_of_device(int device) {
  std::vector<Point> tails;
  for (const StreamRef& stream : streams().all) {
    if (stream->device == device) tails.push_back(tail_of(stream));
  }
  return tails;
}

// Blocking streams and the default stream of their device wait for each other's earlier work.
void append(const StreamRef& stream, Entry entry) {
  if ((stream->flags & cudaStreamNonBlocking) == 0) {
    for (const StreamRef& other : streams().all) {
      const bool ordered = other->device == stream->device && !other->queue.empty() &&
                           (other->flags & cudaStreamNonBlocking) == 0 &&
                           other->legacy != stream->legacy;
      if (ordered) entry.after.push_back(tail_of(other));
    }
  }
  if (entry.operation != nullptr && entry.operation->has_peers()) start_progress_thread();
  stream->queue.push_back(std::move(entry));
}

cudaError_t enqueue(cudaStream_t handle, std::unique_ptr<Operation> operation) {
  bool is_long = false;
  {
    const Lock lock(state().mutex);
    const StreamRef stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return capture_operation(*stream, std::move(operation));
    if (const cudaError_t error = check_implicit_capture(*stream)) return error;
    append(stream, {std::move(operation), {}});
    is_long = stream->queue.size() > kLongQueue;
  }
  if (is_long) run_ahead();
  return cudaSuccess;
}

void synchronize(const std::vector<Point>& targets) {
  Schedule schedule(targets);
  while (true) {
    {
      const std::lock_guard execution(state().execution);
      if (advance(schedule, UINT64_MAX) == Schedule::Result::reached) return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

cudaError_t synchronize_device(int device) {
  std::vector<Point> targets;
  {
    const Lock lock(state().mutex);
    ++state().counters.host_synchronizations;
    ++state().counters.device_synchronizations;
    targets = tails_of_device(device);
  }
  synchronize(targets);
  const Lock lock(state().mutex);
  return state().sticky_error;
}

bool query(const std::vector<Point>& targets) {
  std::uint64_t limit = 0;
  {
    const Lock lock(state().mutex);
    if (std::all_of(targets.begin(), targets.end(), [](auto& p) { return p.reached(); })) {
      return true;
    }
    constexpr std::uint64_t kLimits[] = {0, 1, 8, UINT64_MAX};
    limit = kLimits[state().random.below(4)];
    // A loop that polls comes to an end: no two queries in a row do nothing.
    if (limit == 0 && ++streams().queries_without_work > 1) limit = 8;
    if (limit > 0) streams().queries_without_work = 0;
  }
  const std::lock_guard execution(state().execution);
  Schedule schedule(targets);
  return limit > 0 && advance(schedule, limit) == Schedule::Result::reached;
}

void run_ahead() {
  if (this_thread().in_operation) return;
  std::vector<Point> targets;
  {
    const Lock lock(state().mutex);
    for (const StreamRef& stream : streams().all) targets.push_back(tail_of(stream));
  }
  const std::lock_guard execution(state().execution);
  Schedule schedule(targets);
  advance(schedule, UINT64_MAX);
}

void start_progress_thread() {
  streams().peers_pending = true;
  static ProgressThread thread;
}

}  // namespace emulation
