// Stream capture and graphs: replay, a second stream, and what is illegal meanwhile.
#include <thread>

#include "emulation/tests/device.hpp"

using emulated_test::Buffer;
using emulated_test::check;
using emulated_test::Event;
using emulated_test::launch;
using emulated_test::Stream;

namespace {

__global__ void add(int* value, int amount) { *value += amount; }
__global__ void multiply(int* value, int factor) { *value *= factor; }

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable != nullptr) cudaGraphExecDestroy(executable);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
};

// value = (value + 1) * 2 + 3, the multiplication on a second stream.
void capture_with_side_stream(Graph& into, int* value, cudaStream_t main, cudaStream_t side) {
  Event fork;
  Event join;
  check(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  launch(add, 1, 1, main, value, 1);
  check(cudaEventRecord(fork, main));
  check(cudaStreamWaitEvent(side, fork, 0));
  launch(multiply, 1, 1, side, value, 2);
  check(cudaEventRecord(join, side));
  check(cudaStreamWaitEvent(main, join, 0));
  launch(add, 1, 1, main, value, 3);
  check(cudaStreamEndCapture(main, &into.graph));
  check(cudaGraphInstantiate(&into.executable, into.graph));
}

}  // namespace

TEST_CASE("a captured graph replays, and capturing runs nothing") {
  for (unsigned seed = 0; seed < 10; ++seed) {
    emulation::reset();
    emulation::set_seed(seed);
    Stream main;
    Stream side;
    Buffer<int> value(std::vector<int>{5});
    Graph graph;
    capture_with_side_stream(graph, value.data(), main, side);
    CHECK(emulation::counters().kernel_runs == 0);
    CHECK(emulation::live_objects().graphs == 2);
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(graph.graph, nullptr, &nodes));
    CHECK(nodes == 3);
    for (int i = 0; i < 3; ++i) check(cudaGraphLaunch(graph.executable, main));
    CHECK(value.values(main).front() == (((5 + 1) * 2 + 3 + 1) * 2 + 3 + 1) * 2 + 3);
    CHECK(emulation::counters().graph_launches == 3);
    CHECK(emulation::counters().kernel_runs == 9);
  }
  CHECK(emulation::live_objects().graphs == 0);
}

TEST_CASE("a missing edge within a graph shows with some seeds") {
  int wrong = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    emulation::reset();
    emulation::set_seed(seed);
    Stream main;
    Stream side;
    Event fork;
    Event join;
    Buffer<int> value(std::vector<int>{5});
    Graph graph;
    check(cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed));
    check(cudaEventRecord(fork, main));
    check(cudaStreamWaitEvent(side, fork, 0));
    launch(add, 1, 1, main, value.data(), 1);
    launch(multiply, 1, 1, side, value.data(), 2);
    check(cudaEventRecord(join, side));
    check(cudaStreamWaitEvent(main, join, 0));
    check(cudaStreamEndCapture(main, &graph.graph));
    check(cudaGraphInstantiate(&graph.executable, graph.graph));
    check(cudaGraphLaunch(graph.executable, main));
    wrong += value.values(main).front() != 12;
  }
  CHECK(wrong > 3);
  CHECK(wrong < 30);
}

TEST_CASE("a second stream must come back before the capture ends") {
  emulation::reset();
  Stream main;
  Stream side;
  Event fork;
  Buffer<int> value(std::vector<int>{5});
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  check(cudaEventRecord(fork, main));
  check(cudaStreamWaitEvent(side, fork, 0));
  launch(add, 1, 1, side, value.data(), 1);
  CHECK(cudaStreamEndCapture(side, &graph) == cudaErrorStreamCaptureUnmatched);
  CHECK(cudaStreamEndCapture(main, &graph) == cudaErrorStreamCaptureUnjoined);
  CHECK(graph == nullptr);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  check(cudaStreamIsCapturing(side, &status));
  CHECK(status == cudaStreamCaptureStatusNone);
}

TEST_CASE("the status of a capture can be asked") {
  emulation::reset();
  Stream stream;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  unsigned long long id = 0;
  check(cudaStreamGetCaptureInfo(stream, &status, &id));
  CHECK(status == cudaStreamCaptureStatusNone);
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  check(cudaStreamGetCaptureInfo(stream, &status, &id));
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(id != 0);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  check(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusInvalidated);
  Event event;
  CHECK(cudaEventRecord(event, stream) == cudaErrorStreamCaptureInvalidated);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  stream.synchronize();
}

TEST_CASE("what may disturb a capture is refused as its mode says") {
  emulation::reset();
  Stream stream;
  cudaGraph_t graph = nullptr;
  const auto malloc_error = [] {
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, 4);
    cudaFree(memory);
    return error;
  };
  const auto elsewhere = [&](cudaStreamCaptureMode mode) {
    cudaError_t error = cudaSuccess;
    check(cudaStreamBeginCapture(stream, mode));
    std::thread([&] { error = malloc_error(); }).join();
    const cudaError_t end = cudaStreamEndCapture(stream, &graph);
    CHECK((end == cudaSuccess) == (error == cudaSuccess));
    if (end == cudaSuccess) check(cudaGraphDestroy(graph));
    return error;
  };
  CHECK(elsewhere(cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  CHECK(elsewhere(cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK(elsewhere(cudaStreamCaptureModeRelaxed) == cudaSuccess);

  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  check(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(malloc_error() == cudaSuccess);
  check(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(malloc_error() == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("events inside and outside of a capture do not mix") {
  emulation::reset();
  Stream stream;
  Stream other;
  Event inside;
  Event outside;
  cudaGraph_t graph = nullptr;
  check(cudaEventRecord(outside, other));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  check(cudaEventRecord(inside, stream));
  CHECK(cudaEventQuery(inside) == cudaErrorCapturedEvent);
  CHECK(cudaEventSynchronize(inside) == cudaErrorCapturedEvent);
  CHECK(cudaStreamWaitEvent(stream, outside, 0) == cudaErrorStreamCaptureIsolation);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("the default stream may not be used while a blocking stream is captured") {
  emulation::reset();
  Stream blocking(cudaStreamDefault);
  Event event;
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  CHECK(cudaEventRecord(event, nullptr) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed) ==
        cudaErrorStreamCaptureUnsupported);
}
