// The runtime's functions for stream capture and graphs.
#include <algorithm>

#include "emulation/src/graph.hpp"

using namespace emulation;

namespace {

cudaError_t capture_info(const CUstream_st& stream, cudaStreamCaptureStatus* status,
                         unsigned long long* id, cudaGraph_t* graph) {
  if (status == nullptr) return cudaErrorInvalidValue;
  const Capture* capture = stream.capture.get();
  if (capture == nullptr) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
  }
  *status =
      capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph.get();
  return cudaSuccess;
}

// Calls use with the stream of the handle, if there is one.
template <typename Use>
cudaError_t with_stream(cudaStream_t handle, Use&& use) {
  const Lock lock(state().mutex);
  const StreamRef stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return use(stream);
}

}  // namespace

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api_call("cudaThreadExchangeStreamCaptureMode", [&] {
    if (mode == nullptr) return cudaErrorInvalidValue;
    std::swap(*mode, this_thread().capture_mode);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api_call("cudaStreamBeginCapture", [&] {
    return with_stream(handle,
                       [&](const StreamRef& stream) { return begin_capture(stream, mode); });
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* pGraph) {
  return api_call("cudaStreamEndCapture", [&] {
    if (pGraph == nullptr) return cudaErrorInvalidValue;
    return with_stream(handle,
                       [&](const StreamRef& stream) { return end_capture(stream, pGraph); });
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* pCaptureStatus) {
  return api_call("cudaStreamIsCapturing", [&] {
    return with_stream(handle, [&](const StreamRef& stream) {
      if (const cudaError_t error = check_implicit_capture(*stream)) return error;
      return capture_info(*stream, pCaptureStatus, nullptr, nullptr);
    });
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle,
                                     cudaStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out, cudaGraph_t* graph_out,
                                     const cudaGraphNode_t** dependencies_out,
                                     const cudaGraphEdgeData** edgeData_out,
                                     size_t* numDependencies_out) {
  return api_call("cudaStreamGetCaptureInfo", [&] {
    if (dependencies_out != nullptr || edgeData_out != nullptr || numDependencies_out != nullptr) {
      return cudaErrorNotSupported;
    }
    return with_stream(handle, [&](const StreamRef& stream) {
      return capture_info(*stream, captureStatus_out, id_out, graph_out);
    });
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  return api_call("cudaGraphGetNodes", [&] {
    if (graph == nullptr || numNodes == nullptr) return cudaErrorInvalidValue;
    if (nodes != nullptr) return cudaErrorNotSupported;  // their number only
    const Lock lock(state().mutex);
    *numNodes = graph->nodes->size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return api_call("cudaGraphInstantiate", [&] {
    if (pGraphExec == nullptr || flags != 0) return cudaErrorInvalidValue;
    const Lock lock(state().mutex);
    return instantiate(graph, pGraphExec);
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t handle) {
  return api_call("cudaGraphLaunch", [&] {
    return with_stream(handle,
                       [&](const StreamRef& stream) { return launch_graph(graphExec, stream); });
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t,
                                cudaGraphExecUpdateResultInfo* resultInfo) {
  return api_call("cudaGraphExecUpdate", [&] {
    if (resultInfo == nullptr) return cudaErrorInvalidValue;
    *resultInfo = {cudaGraphExecUpdateErrorNotSupported, nullptr, nullptr};
    return cudaErrorGraphExecUpdateFailure;  // as where the graphs differ: make a new one
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  return api_call("cudaGraphExecDestroy", [&] {
    const Lock lock(state().mutex);
    return destroy_executable(graphExec);
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api_call("cudaGraphDestroy", [&] {
    const Lock lock(state().mutex);
    return destroy_graph(graph);
  });
}

}  // extern "C"
