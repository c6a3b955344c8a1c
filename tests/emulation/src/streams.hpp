// Streams and events. A stream is a queue of entries; a point is a place in a queue, and is what
// an entry, an event or a synchronization waits for.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "emulation/src/state.hpp"
#include "emulation/stream_queue.hpp"

namespace emulation {

struct Capture;

struct Point {
  std::shared_ptr<CUstream_st> stream;
  std::uint64_t position = 0;  // this many entries of the stream are done

  bool reached() const;
};

struct Entry {
  std::unique_ptr<Operation> operation;  // none: only the order matters
  std::vector<Point> after;
};

struct EventRecord {
  Point point;
  std::chrono::steady_clock::time_point time;
};

using StreamRef = std::shared_ptr<CUstream_st>;

}  // namespace emulation

struct CUstream_st {
  int device = 0;
  unsigned int flags = cudaStreamDefault;
  int priority = 0;
  bool legacy = false;

  std::deque<emulation::Entry> queue;
  std::uint64_t done = 0;  // entries that ran since the stream exists

  std::shared_ptr<emulation::Capture> capture;  // while capturing
  std::vector<std::size_t> capture_tail;        // nodes that the next one comes after
};

struct CUevent_st {
  int device = 0;
  unsigned int flags = cudaEventDefault;
  std::shared_ptr<emulation::EventRecord> last;  // none: never recorded
  std::shared_ptr<emulation::Capture> capture;   // of the last record, if it was captured
  std::vector<std::size_t> capture_tail;
};

namespace emulation {

inline bool Point::reached() const { return stream->done >= position; }

// The caller holds state().mutex for all that follows up to the synchronizations.
StreamRef find_stream(cudaStream_t handle);  // null if there is no such
CUevent_st* find_event(cudaEvent_t handle);  // likewise
void add_event(CUevent_st* event);
void remove_event(CUevent_st* event);
std::int64_t event_count();
const std::vector<StreamRef>& all_streams();  // by age; destroyed ones too while they have work
StreamRef create_stream(unsigned int flags, int priority);
void destroy_stream(const StreamRef& stream);
std::int64_t stream_count();
Point tail_of(const StreamRef& stream);
std::vector<Point> tails_of_device(int device);
// Behind what is in the stream, with the order that a default stream imposes.
void append(const StreamRef& stream, Entry entry);

// These take the locks themselves. A synchronization returns when the points are reached, after
// it ran more or less of the other streams; it is counted unless it is part of another call.
void synchronize(const std::vector<Point>& targets);
cudaError_t synchronize_device(int device);
// Runs none, some or all of what the points need, and says whether they are reached.
bool query(const std::vector<Point>& targets);
// Runs what can run now, without waiting: a queue got long, or a peer may need it.
void run_ahead();
// Makes sure that operations with peers progress without the host.
void start_progress_thread();

}  // namespace emulation
