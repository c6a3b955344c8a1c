// The one state of the stand-in: settings, counters, failures to come. streams.hpp, memory.hpp and
// graph.hpp have the parts.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emulation/control.hpp"

namespace emulation {

// splitmix64: the order of everything follows from the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t next();
  // Of the numbers from 0 on, one less than the bound; 0 if there is none. Bounds are below 2^32.
  std::uint64_t below(std::uint64_t bound) { return (next() >> 32) * bound >> 32; }

 private:
  std::uint64_t state_;
};

struct Settings {
  int device_count = 1;
  std::string host;
  std::uint64_t seed = 0;
  int driver_version = CUDART_VERSION;
  std::int64_t device_memory = std::int64_t{8} << 30;  // bytes of each device
  std::vector<int> visible;                            // physical indexes
};
Settings settings_from_environment();
std::string uuid_of(const Settings& settings, int physical_device);
// Physical indexes, from CUDA_VISIBLE_DEVICES.
std::vector<int> visible_devices(const Settings& settings);

struct Failure {
  std::string name;  // empty: any call
  std::int64_t calls_left = 0;
  int error = 0;
};

struct State {
  // Guards all that is here and in the parts; held for moments.
  std::recursive_mutex mutex;
  // Held by the thread that runs operations, and never while it sleeps. Taken before the other.
  std::mutex execution;

  Settings settings;
  Random random;
  Counters counters;
  std::map<std::string, std::int64_t> calls;
  std::map<std::string, std::int64_t> handles;
  std::vector<Failure> failures;
  std::string failed_call;
  std::vector<std::int64_t> dropped_waits;
  std::int64_t event_waits = 0;
  cudaError_t sticky_error = cudaSuccess;
};
State& state();
using Lock = std::lock_guard<std::recursive_mutex>;

// What a thread has of its own.
struct ThreadState {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  bool in_operation = false;
};
ThreadState& this_thread();

// The frame of each function of the runtime: counts the call, fails it where that was asked for or
// the context is dead, and remembers its error for cudaGetLastError.
cudaError_t begin_call(const char* name);
cudaError_t remember(cudaError_t error);

template <typename Body>
cudaError_t api_call(const char* name, Body&& body) {
  cudaError_t error = begin_call(name);
  if (error == cudaSuccess) error = body();
  return remember(error);
}

// As an illegal address would: all later calls fail.
void poison(cudaError_t error);

}  // namespace emulation
