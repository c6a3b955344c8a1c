// Operations of other stand-ins: they may wait for a peer, here a flag.
#include <atomic>
#include <thread>

#include "emulation/stream_queue.hpp"
#include "emulation/tests/device.hpp"

using emulated_test::Buffer;
using emulated_test::check;
using emulated_test::Event;
using emulated_test::launch;
using emulated_test::Stream;

namespace {

__global__ void store(int* values, int index) { values[index] = index; }

// Raises its own flag and is done when the peer's flag is raised.
class Meeting : public emulation::Operation {
 public:
  Meeting(std::atomic<int>* own, std::atomic<int>* peer) : own_(own), peer_(peer) {}
  emulation::Progress run() override {
    if (!arrived_) ++*own_;
    arrived_ = true;
    return *peer_ >= *own_ ? emulation::Progress::done : emulation::Progress::waiting;
  }
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<Meeting>(own_, peer_);
  }
  bool has_peers() const override { return true; }

 private:
  std::atomic<int>* own_;
  std::atomic<int>* peer_;
  bool arrived_ = false;
};

cudaError_t meet(cudaStream_t stream, std::atomic<int>& own, std::atomic<int>& peer) {
  return emulation::enqueue(stream, std::make_unique<Meeting>(&own, &peer));
}

}  // namespace

TEST_CASE("two operations on two streams of one thread meet, whichever is waited for") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    emulation::reset();
    emulation::set_seed(seed);
    std::atomic<int> a = 0;
    std::atomic<int> b = 0;
    Stream first;
    Stream second;
    check(meet(first, a, b));
    check(meet(second, b, a));
    (seed % 2 == 0 ? first : second).synchronize();
    CHECK(a == 1);
    CHECK(b == 1);
  }
}

TEST_CASE("a query says that a peer is not there, and a loop of queries ends when it is") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    emulation::reset();
    emulation::set_seed(seed);
    std::atomic<int> own = 0;
    std::atomic<int> peer = 0;
    Stream stream;
    Event event;
    for (int i = 0; i < 50; ++i) check(emulation::enqueue(stream, nullptr));
    check(meet(stream, own, peer));
    check(cudaEventRecord(event, stream));
    for (int i = 0; i < 100; ++i) CHECK(cudaEventQuery(event) == cudaErrorNotReady);
    CHECK(own == 1);
    peer = 1;
    int queries = 0;
    while (cudaEventQuery(event) == cudaErrorNotReady) REQUIRE(++queries < 100);
    CHECK(cudaStreamQuery(stream) == cudaSuccess);
  }
}

TEST_CASE("an operation with peers runs even if this process asks for nothing") {
  emulation::reset();
  std::atomic<int> own = 0;
  std::atomic<int> peer = 0;
  std::vector<int> host(1, 0);
  Buffer<int> values(1);
  Stream stream;
  launch(store, 1, 1, stream, values.data(), 0);
  check(meet(stream, own, peer));
  while (own == 0) std::this_thread::yield();
  peer = 1;
  stream.synchronize();
}

TEST_CASE("threads with streams of their own meet") {
  emulation::reset();
  std::atomic<int> flags[2] = {0, 0};
  const auto work = [&](int own) {
    Stream stream;
    for (int i = 0; i < 50; ++i) {
      check(meet(stream, flags[own], flags[1 - own]));
      if (i % 7 == own) stream.synchronize();
    }
    stream.synchronize();
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  CHECK(flags[0] == 50);
  CHECK(flags[1] == 50);
}

TEST_CASE("operations with peers are captured, and meet at each launch of the graph") {
  emulation::reset();
  std::atomic<int> a = 0;
  std::atomic<int> b = 0;
  Stream first;
  Stream second;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
  check(meet(first, a, b));
  check(cudaStreamEndCapture(first, &graph));
  check(cudaGraphInstantiate(&executable, graph));
  for (int i = 0; i < 3; ++i) {
    check(cudaGraphLaunch(executable, first));
    check(meet(second, b, a));
  }
  first.synchronize();
  CHECK(a == 3);
  CHECK(b == 3);
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
  second.synchronize();
}

TEST_CASE("a stream that is never waited for does not grow without end") {
  emulation::reset();
  Stream stream;
  Buffer<int> values(1);
  for (int i = 0; i < 5000; ++i) launch(store, 1, 1, stream, values.data(), 0);
  CHECK(emulation::counters().kernel_runs > 3000);
}

TEST_CASE("host functions run in their place, and may not call the runtime") {
  emulation::reset();
  Stream stream;
  cudaError_t error = cudaSuccess;
  check(cudaLaunchHostFunc(
      stream, [](void* data) { *static_cast<cudaError_t*>(data) = cudaStreamSynchronize(nullptr); },
      &error));
  CHECK(error == cudaSuccess);
  stream.synchronize();
  CHECK(error == cudaErrorNotPermitted);
}

TEST_CASE("a destroyed stream still does its work") {
  emulation::reset();
  Buffer<int> values(std::vector<int>{5, 5});
  const std::int64_t before = emulation::live_objects().streams;
  {
    Stream stream;
    launch(store, 1, 1, stream, values.data(), 1);
  }
  CHECK(emulation::live_objects().streams == before);
  check(cudaDeviceSynchronize());
  CHECK(values.values(nullptr) == std::vector<int>{5, 1});
}

TEST_CASE("the default stream and blocking streams wait for each other") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    emulation::reset();
    emulation::set_seed(seed);
    Stream blocking(cudaStreamDefault);
    Buffer<int> values(std::vector<int>{5, 5});
    std::vector<int> host(2);
    launch(store, 1, 1, blocking, values.data(), 0);
    launch(store, 1, 1, nullptr, values.data(), 1);
    CHECK(values.values(nullptr) == std::vector<int>{0, 1});
    launch(store, 1, 1, nullptr, values.data(), 0);
    CHECK(values.values(blocking) == std::vector<int>{0, 1});
  }
}
