#include "emulation/src/graph.hpp"

#include <algorithm>
#include <set>

namespace emulation {
namespace {

struct Graphs {
  std::vector<std::shared_ptr<Capture>> captures;
  std::set<CUgraph_st*> graphs;
  std::set<CUgraphExec_st*> executables;
  unsigned long long next_id = 1;
};

Graphs& graphs() {
  static auto* the_graphs = new Graphs;
  return *the_graphs;
}

void merge(std::vector<std::size_t>& into, const std::vector<std::size_t>& from) {
  for (const std::size_t node : from) {
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
  }
}

// All nodes that come before these, and these.
std::vector<bool> reachable(const GraphNodes& nodes, const std::vector<std::size_t>& from) {
  std::vector<bool> found(nodes.size());
  std::vector<std::size_t> open = from;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (found[node]) continue;
    found[node] = true;
    open.insert(open.end(), nodes[node].after.begin(), nodes[node].after.end());
  }
  return found;
}

bool joined(const Capture& capture, const CUstream_st& origin) {
  const std::vector<bool> found = reachable(*capture.graph->nodes, origin.capture_tail);
  for (const StreamRef& stream : capture.streams) {
    for (const std::size_t node : stream->capture_tail) {
      if (!found[node]) return false;
    }
  }
  return true;
}

void leave(Capture& capture) {
  for (const StreamRef& stream : capture.streams) {
    stream->capture = nullptr;
    stream->capture_tail.clear();
  }
  capture.streams.clear();  // events still refer to the capture
  auto& all = graphs().captures;
  all.erase(std::remove_if(all.begin(), all.end(), [&](auto& c) { return c.get() == &capture; }),
            all.end());
}

// One launch of a graph: its nodes in an order that the seed chooses among those allowed.
class GraphLaunch : public Operation {
 public:
  explicit GraphLaunch(std::shared_ptr<const GraphNodes> nodes)
      : nodes_(std::move(nodes)), running_(nodes_->size()), done_(nodes_->size()) {}

  Progress run() override {
    std::vector<bool> stalled(nodes_->size());
    while (true) {
      std::vector<std::size_t> candidates;
      for (std::size_t node = 0; node < nodes_->size(); ++node) {
        if (!done_[node] && !stalled[node] && is_ready(node)) candidates.push_back(node);
      }
      if (candidates.empty()) break;
      const std::size_t node = candidates[choose(candidates.size())];
      if (running_[node] == nullptr) running_[node] = (*nodes_)[node].operation->clone();
      const bool waits = running_[node]->run() == Progress::waiting;
      (waits ? stalled : done_)[node] = true;
    }
    const bool all = std::find(done_.begin(), done_.end(), false) == done_.end();
    return all ? Progress::done : Progress::waiting;
  }

  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<GraphLaunch>(nodes_);
  }

  bool has_peers() const override {
    return std::any_of(nodes_->begin(), nodes_->end(),
                       [](const GraphNode& node) { return node.operation->has_peers(); });
  }

 private:
  bool is_ready(std::size_t node) const {
    const std::vector<std::size_t>& after = (*nodes_)[node].after;
    return std::all_of(after.begin(), after.end(), [&](std::size_t n) { return done_[n]; });
  }

  static std::size_t choose(std::size_t count) {
    const Lock lock(state().mutex);
    return state().random.below(count);
  }

  std::shared_ptr<const GraphNodes> nodes_;
  std::vector<std::unique_ptr<Operation>> running_;
  std::vector<bool> done_;
};

}  // namespace

cudaError_t invalidate(Capture& capture) {
  capture.invalidated = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t capture_operation(CUstream_st& stream, std::unique_ptr<Operation> operation) {
  if (stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  GraphNodes& nodes = *stream.capture->graph->nodes;
  nodes.push_back({std::move(operation), stream.capture_tail});
  stream.capture_tail = {nodes.size() - 1};
  return cudaSuccess;
}

cudaError_t capture_event_record(CUstream_st& stream, CUevent_st& event) {
  if (stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  event.capture = stream.capture;
  event.capture_tail = stream.capture_tail;
  return cudaSuccess;
}

cudaError_t capture_event_wait(const StreamRef& stream, const CUevent_st& event) {
  const std::shared_ptr<Capture>& own = stream->capture;
  if (own != nullptr && own->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (event.capture == nullptr) {
    own->invalidated = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (event.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (own != nullptr && own != event.capture) {
    own->invalidated = event.capture->invalidated = true;
    return cudaErrorStreamCaptureMerge;
  }
  const auto& going_on = graphs().captures;
  if (std::find(going_on.begin(), going_on.end(), event.capture) == going_on.end()) {
    return cudaErrorCapturedEvent;  // recorded in a capture that has ended
  }
  if (own == nullptr) {
    if (stream->legacy) return cudaErrorStreamCaptureImplicit;
    stream->capture = event.capture;
    event.capture->streams.push_back(stream);
  }
  merge(stream->capture_tail, event.capture_tail);
  return cudaSuccess;
}

cudaError_t check_implicit_capture(const CUstream_st& stream) {
  if (!stream.legacy) return cudaSuccess;
  for (const auto& capture : graphs().captures) {
    for (const StreamRef& captured : capture->streams) {
      if (captured->device == stream.device && (captured->flags & cudaStreamNonBlocking) == 0) {
        capture->invalidated = true;
        return cudaErrorStreamCaptureImplicit;
      }
    }
  }
  return cudaSuccess;
}

cudaError_t check_unsafe_call() {
  const cudaStreamCaptureMode mode = this_thread().capture_mode;
  if (mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (const auto& capture : graphs().captures) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool forbidden =
        own ? capture->mode != cudaStreamCaptureModeRelaxed
            : mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;
    if (forbidden) error = invalidate(*capture);
  }
  return error;
}

std::int64_t graph_count() {
  return static_cast<std::int64_t>(graphs().graphs.size() + graphs().executables.size());
}

cudaError_t begin_capture(const StreamRef& stream, cudaStreamCaptureMode mode) {
  if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = graphs().next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->graph = std::make_unique<CUgraph_st>();
  capture->streams = {stream};
  stream->capture = capture;
  graphs().captures.push_back(std::move(capture));
  return cudaSuccess;
}

cudaError_t end_capture(const StreamRef& stream, cudaGraph_t* graph) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin != stream.get()) return cudaErrorStreamCaptureUnmatched;
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  *graph = nullptr;
  cudaError_t error = capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  if (error == cudaSuccess && !joined(*capture, *stream)) error = cudaErrorStreamCaptureUnjoined;
  leave(*capture);
  if (error != cudaSuccess) return error;
  *graph = capture->graph.release();
  graphs().graphs.insert(*graph);
  return cudaSuccess;
}

cudaError_t instantiate(cudaGraph_t graph, cudaGraphExec_t* executable) {
  if (graphs().graphs.count(graph) == 0) return cudaErrorInvalidValue;
  *executable = new CUgraphExec_st{graph->nodes, {}};
  graphs().executables.insert(*executable);
  return cudaSuccess;
}

cudaError_t launch_graph(cudaGraphExec_t executable, const StreamRef& stream) {
  if (graphs().executables.count(executable) == 0) return cudaErrorInvalidValue;
  auto launch = std::make_unique<GraphLaunch>(executable->nodes);
  ++state().counters.graph_launches;
  if (stream->capture != nullptr) return capture_operation(*stream, std::move(launch));
  if (const cudaError_t error = check_implicit_capture(*stream)) return error;
  Entry entry{std::move(launch), {}};
  // Launches of one executable graph do not overlap.
  if (executable->last_launch.stream != nullptr) entry.after.push_back(executable->last_launch);
  append(stream, std::move(entry));
  executable->last_launch = tail_of(stream);
  return cudaSuccess;
}

cudaError_t destroy_graph(cudaGraph_t graph) {
  if (graphs().graphs.erase(graph) == 0) return cudaErrorInvalidValue;
  delete graph;
  return cudaSuccess;
}

cudaError_t destroy_executable(cudaGraphExec_t executable) {
  if (graphs().executables.erase(executable) == 0) return cudaErrorInvalidValue;
  delete executable;
  return cudaSuccess;
}

}  // namespace emulation
