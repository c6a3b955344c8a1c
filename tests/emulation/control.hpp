// How a test steers and observes the stand-in. Everything is per process.
//
// Read from the environment at the first call: EMULATED_DEVICES (1), EMULATED_HOST (the host's
// name), EMULATED_SEED (0), EMULATED_DRIVER_VERSION (13000; 0: no driver), EMULATED_DROP_WAIT (a
// number as for drop_event_wait), EMULATED_FAIL ("name:n:code[,name:n:code...]", an empty name is
// any call), and CUDA_VISIBLE_DEVICES as CUDA reads it.
#pragma once

#include <cstdint>
#include <string>

namespace emulation {

// Forgets everything but live objects: counters, failures, drops, sticky errors. Devices, host and
// seed are as the environment says again.
void reset();

// Decides in which order streams, and threads within a block, run.
void set_seed(std::uint64_t seed);
std::uint64_t seed();

// Devices of the machine, before CUDA_VISIBLE_DEVICES.
void set_device_count(int count);
void set_device_memory(std::int64_t byte_count);  // of each device; 8 GiB
void set_host_name(const std::string& name);
std::string host_name();

// "GPU-8-4-4-4-12" hexadecimal digits, from the host's name and the physical index of a visible
// device.
std::string device_uuid(int device);

struct LiveObjects {
  std::int64_t allocations = 0;      // device memory
  std::int64_t allocated_bytes = 0;  // device memory
  std::int64_t pinned_buffers = 0;
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t graphs = 0;   // graphs and executable graphs
  std::int64_t handles = 0;  // of cuBLASLt: handles, descriptors, layouts, preferences
};
LiveObjects live_objects();
std::int64_t live_handles(const std::string& kind);  // as counted by count_live

struct Counters {
  std::int64_t kernel_launches = 0;  // by the host, captured or not
  std::int64_t kernel_runs = 0;      // by the device, in a graph or not
  std::int64_t graph_launches = 0;
  std::int64_t host_synchronizations = 0;    // the host waited for a stream, event or device
  std::int64_t device_synchronizations = 0;  // of those, for a whole device (cudaFree as well)
  std::int64_t allocations = 0;
  std::int64_t guard_violations = 0;  // writes beside an allocation, found when it was freed
};
Counters counters();
std::int64_t call_count(const std::string& name);  // of any function of a stand-in

// The n-th call from now (1 is the next), of any function that can fail or of the named one, does
// nothing and returns this error.
void fail_call(std::int64_t n, int error);
void fail_call(const std::string& name, std::int64_t n, int error);
std::string failed_call();  // the last call that failed because of that; empty: none since reset()

// Event waits are numbered from 0 as cudaStreamWaitEvent is called.
std::int64_t event_wait_count();
void drop_event_wait(std::int64_t number);  // that call will have no effect

// From now on every call fails with this error (a cudaError_t), as after an illegal address.
void poison_context(int error);

}  // namespace emulation
