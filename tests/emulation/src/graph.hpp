// Stream capture and graphs.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "emulation/src/streams.hpp"

namespace emulation {

struct GraphNode {
  std::unique_ptr<Operation> operation;
  std::vector<std::size_t> after;  // nodes
};
using GraphNodes = std::vector<GraphNode>;

// A capture going on: what is queued in its streams becomes nodes.
struct Capture {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  const CUstream_st* origin = nullptr;
  bool invalidated = false;
  std::unique_ptr<CUgraph_st> graph;
  std::vector<StreamRef> streams;  // origin, and those that joined
};

// The caller holds state().mutex for all of these.
cudaError_t capture_operation(CUstream_st& stream, std::unique_ptr<Operation> operation);
cudaError_t capture_event_record(CUstream_st& stream, CUevent_st& event);
// A wait of a stream for an event, where one of them is captured.
cudaError_t capture_event_wait(const StreamRef& stream, const CUevent_st& event);
// For operations on a default stream while a blocking stream is captured.
cudaError_t check_implicit_capture(const CUstream_st& stream);
// For calls that may disturb a capture: fails and invalidates it where the modes say so.
cudaError_t check_unsafe_call();
cudaError_t invalidate(Capture& capture);  // cudaErrorStreamCaptureUnsupported
std::int64_t graph_count();

// What the functions of the runtime do.
cudaError_t begin_capture(const StreamRef& stream, cudaStreamCaptureMode mode);
cudaError_t end_capture(const StreamRef& stream, cudaGraph_t* graph);
cudaError_t instantiate(cudaGraph_t graph, cudaGraphExec_t* executable);
cudaError_t launch_graph(cudaGraphExec_t executable, const StreamRef& stream);
cudaError_t destroy_graph(cudaGraph_t graph);
cudaError_t destroy_executable(cudaGraphExec_t executable);

}  // namespace emulation

struct CUgraph_st {
  // Shared with what was instantiated from it.
  std::shared_ptr<emulation::GraphNodes> nodes = std::make_shared<emulation::GraphNodes>();
};

struct CUgraphExec_st {
  std::shared_ptr<const emulation::GraphNodes> nodes;
  emulation::Point last_launch;
};
