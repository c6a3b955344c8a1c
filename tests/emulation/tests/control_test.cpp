// Devices, failures on demand, errors that stay, counters.
#include <cstdlib>
#include <cstring>
#include <thread>

#include "emulation/tests/device.hpp"

using emulated_test::Buffer;
using emulated_test::check;
using emulated_test::Event;
using emulated_test::launch;
using emulated_test::Stream;

namespace {

__global__ void increment(int* value) { ++*value; }

// Sets an environment variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    setenv(name, value, 1);
    emulation::reset();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    unsetenv(name_);
    emulation::reset();
  }

 private:
  const char* name_;
};

int device_count() {
  int count = -1;
  check(cudaGetDeviceCount(&count));
  return count;
}

}  // namespace

TEST_CASE("devices are counted, chosen and told apart") {
  const Variable devices("EMULATED_DEVICES", "3");
  CHECK(device_count() == 3);
  CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
  check(cudaSetDevice(2));
  int device = -1;
  check(cudaGetDevice(&device));
  CHECK(device == 2);
  std::thread([&] { check(cudaGetDevice(&device)); }).join();
  CHECK(device == 0);
  cudaDeviceProp first{};
  cudaDeviceProp second{};
  check(cudaGetDeviceProperties(&first, 0));
  check(cudaGetDeviceProperties(&second, 1));
  CHECK(std::memcmp(&first.uuid, &second.uuid, sizeof first.uuid) != 0);
  char bus[32];
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
  CHECK(std::string(bus) == "0000:02:00.0");
}

TEST_CASE("the UUID follows from host and physical index") {
  const Variable devices("EMULATED_DEVICES", "4");
  emulation::set_host_name("a");
  const std::string third = emulation::device_uuid(2);
  CHECK(third.size() == 40);
  {
    const Variable visible("CUDA_VISIBLE_DEVICES", "3,2");
    emulation::set_host_name("a");
    CHECK(device_count() == 2);
    CHECK(emulation::device_uuid(1) == third);
    emulation::set_host_name("b");
    CHECK(emulation::device_uuid(1) != third);
  }
  const Variable host("EMULATED_HOST", "a");
  const Variable visible("CUDA_VISIBLE_DEVICES", third.c_str());
  CHECK(device_count() == 1);
  CHECK(emulation::device_uuid(0) == third);
}

TEST_CASE("without visible devices or driver nothing works") {
  {
    const Variable visible("CUDA_VISIBLE_DEVICES", "");
    int count = -1;
    CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
    CHECK(count == 0);
  }
  const Variable driver("EMULATED_DRIVER_VERSION", "0");
  int version = -1;
  check(cudaDriverGetVersion(&version));
  CHECK(version == 0);
  CHECK(cudaGetDeviceCount(&version) == cudaErrorInsufficientDriver);
}

TEST_CASE("the n-th call fails, and does nothing") {
  emulation::reset();
  Stream stream;
  Event event;
  emulation::fail_call(2, cudaErrorUnknown);
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorUnknown);
  CHECK(cudaGetLastError() == cudaErrorUnknown);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);

  emulation::fail_call("cudaMalloc", 2, cudaErrorMemoryAllocation);
  Buffer<int> first(1);
  void* second = nullptr;
  check(cudaEventRecord(event, stream));
  CHECK(cudaMalloc(&second, 4) == cudaErrorMemoryAllocation);
  CHECK(second == nullptr);
}

TEST_CASE("failures come from the environment as well") {
  const Variable failures("EMULATED_FAIL", "cudaSetDevice:1:101,:3:999");
  int device = 0;
  CHECK(cudaSetDevice(0) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  CHECK(cudaGetDevice(&device) == cudaErrorUnknown);
  CHECK(cudaGetDevice(&device) == cudaSuccess);
}

TEST_CASE("a dropped event wait has no effect") {
  int wrong = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    emulation::reset();
    emulation::set_seed(seed);
    Buffer<int> value(std::vector<int>{41});
    Stream first;
    Stream second;
    Event event;
    CHECK(emulation::event_wait_count() == 0);
    emulation::drop_event_wait(0);
    launch(increment, 1, 1, first, value.data());
    check(cudaEventRecord(event, first));
    check(cudaStreamWaitEvent(second, event, 0));
    CHECK(emulation::event_wait_count() == 1);
    wrong += value.values(second).front() != 42;
  }
  CHECK(wrong > 3);
  CHECK(wrong < 30);
}

TEST_CASE("an error of the context stays, and what was queued ends") {
  emulation::reset();
  Stream stream;
  Buffer<int> value(std::vector<int>{1});
  launch(increment, 1, 1, stream, value.data());
  emulation::poison_context(cudaErrorIllegalAddress);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4) == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  emulation::reset();
  stream.synchronize();
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("calls and live objects are counted") {
  emulation::reset();
  const emulation::LiveObjects before = emulation::live_objects();
  {
    Stream stream;
    Event event;
    Buffer<int> value(std::vector<int>{1});
    for (int i = 0; i < 3; ++i) launch(increment, 1, 1, stream, value.data());
    check(cudaEventRecord(event, stream));
    check(cudaEventSynchronize(event));
    const emulation::LiveObjects live = emulation::live_objects();
    CHECK(live.streams == before.streams + 1);
    CHECK(live.events == before.events + 1);
    CHECK(live.allocations == before.allocations + 1);
    CHECK(emulation::call_count("cudaEventSynchronize") == 1);
    CHECK(emulation::counters().kernel_launches == 3);
    CHECK(emulation::counters().kernel_runs == 3);
    CHECK(emulation::counters().host_synchronizations == 2);  // one in Buffer
  }
  const emulation::LiveObjects after = emulation::live_objects();
  CHECK(after.streams == before.streams);
  CHECK(after.events == before.events);
  CHECK(after.allocations == before.allocations);
}

TEST_CASE("errors have CUDA's names") {
  CHECK(std::string(cudaGetErrorName(cudaErrorNotReady)) == "cudaErrorNotReady");
  CHECK(std::string(cudaGetErrorString(cudaErrorNoDevice)) == "no CUDA-capable device is detected");
  CHECK(std::string(cudaGetErrorName(static_cast<cudaError_t>(12345))) ==
        "unrecognized error code");
}

TEST_CASE("handles that are gone, or of another device, are refused") {
  const Variable devices("EMULATED_DEVICES", "2");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  Event event;
  check(cudaSetDevice(1));
  cudaLaunchConfig_t config{};
  config.stream = stream;
  CHECK(cudaLaunchKernelEx(&config, increment, nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event, nullptr) == cudaErrorInvalidResourceHandle);
  int device = -1;
  check(cudaStreamGetDevice(stream, &device));
  CHECK(device == 0);
  check(cudaSetDevice(0));
  check(cudaStreamDestroy(stream));
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
}
