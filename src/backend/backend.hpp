// The seam to what computes: raw memory of one device, one interface per family, chosen at run time
// by Device.
#pragma once

#include <string>

#include <lockstep/core/device.hpp>
#include "backend/elementwise.hpp"
#include "backend/embedding.hpp"
#include "backend/gemm.hpp"
#include "backend/loss.hpp"
#include "backend/memory.hpp"
#include "backend/normalization.hpp"
#include "backend/optimizer.hpp"
#include "backend/random.hpp"
#include "backend/reduction.hpp"
#include "backend/scalars.hpp"

namespace lockstep::inline v0::backend {

struct Backend {
  Memory& memory;
  Elementwise& elementwise;
  Reduction& reduction;
  Gemm& gemm;
  Loss& loss;
  Optimizer& optimizer;
  Random& random;
  Scalars& scalars;
  Normalization& normalization;
  Embedding& embedding;
  bool host_reads = true;  // results lie in host memory when a call returns
};

/// @throws BackendUnavailable
const Backend& backend_for(Device device);
/// What to tell a user of lockstep about it.
const char* text_of(Problem problem);
/// The queue on which this thread's operations run on that device.
Queue current_queue(Device device);
/// Number of threads that CPU operations of this process may use; GEMM threads of the BLAS
/// included.
void set_cpu_thread_count(int count);
int cpu_thread_count();
/// "avx512", "avx2" or "baseline": the vector code that runs; the environment variable
/// LOCKSTEP_CPU_VARIANT may lower it.
const char* cpu_variant();
/// "openblas", "mkl", "blas" or "eigen".
const char* cpu_gemm_library();

// One per device kind; a kind that is not built has a file that throws.
const Backend& cpu_backend();
const Backend& cuda_backend(int index);
Queue cuda_current_queue(int index);

struct ChosenQueue {
  bool chosen = false;  // false: lockstep's own
  Queue queue;
};
/// Chooses the queue of this thread's operations on that device. Returns the choice before.
ChosenQueue set_cuda_queue(int index, ChosenQueue queue);
/// What is queued on `later` from now on comes after what is on `earlier` now. Does not wait.
void cuda_order(int index, Queue later, Queue earlier);
/// The device that the memory lies on; -1: host memory.
int cuda_device_of(const void* pointer);
/// The program's current device.
int cuda_current_device();
/// Putting a thread's current device back makes a context, with its memory, on a GPU that the
/// process does not use. With `keep` it stays in that case.
void cuda_keep_device(bool keep) noexcept;
/// Whether a thread's device is to be put back to that one.
bool cuda_puts_back(int index) noexcept;
/// Whether float32 products may round their operands to TF32; LOCKSTEP_TF32 says it at the start.
void cuda_allow_tf32(bool allowed);
/// @throws InvalidUsage if LOCKSTEP_TF32 cannot be read
bool cuda_tf32_allowed();
/// A collective on that device failed, so what its result said about the other ranks means nothing:
/// the next read of a value does not throw it.
void forget_problems_of_ranks(int index) noexcept;
/// Why cuda_device_count() is 0.
std::string cuda_missing_reason();

/// What tells one GPU from another.
struct CudaDeviceDescription {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string uuid;  // "GPU-8f5a...", the same in every process of the host
  std::string pci;   // "0000:65:00.0"
};

/// @throws BackendUnavailable, DeviceError
CudaDeviceDescription cuda_device_description(int index);

}  // namespace lockstep::inline v0::backend
