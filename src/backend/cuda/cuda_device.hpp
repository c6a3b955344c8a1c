// What lockstep keeps per CUDA device: its stream, memory, cuBLAS handle and backend families.
// Made at first use, never destroyed: tensors of static storage duration may be released after any
// other object, and after the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "backend/backend.hpp"
#include "backend/cuda/cuda_memory.hpp"
#include "backend/cuda/owned.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaGemm;

inline cudaStream_t stream_of(Queue queue) { return static_cast<cudaStream_t>(queue.stream); }

class DeviceState {
 public:
  explicit DeviceState(int index);

  int index() const noexcept { return index_; }
  /// lockstep's own compute stream.
  cudaStream_t stream() const noexcept { return stream_.get(); }
  CudaMemory& memory() noexcept { return memory_; }
  const Backend& backend() const noexcept { return *backend_; }
  int processor_count() const noexcept { return processor_count_; }

  /// A word in which kernels leave word of wrong input that they cannot throw about; 0 while all
  /// is well.
  std::int32_t* status();
  /// Queues a copy of it to the host, if there is one.
  void copy_status(cudaStream_t stream);
  /// After that copy has passed. @throws InvalidUsage, once per error
  void check_status();

 private:
  using DeviceWord = Owned<void*, cudaFree>;

  int index_;
  int processor_count_ = 0;
  Stream stream_;
  CudaMemory memory_;
  std::unique_ptr<Backend> backend_;
  std::mutex status_mutex_;
  DeviceWord status_;
  PinnedPool::Block status_copy_;
};

/// @throws BackendUnavailable naming what is there.
DeviceState& device_state(int index);

/// The stream on which this thread's operations on that device run: lockstep's own, unless a
/// StreamScope says otherwise.
cudaStream_t current_stream(int index);

}  // namespace lockstep::inline v0::backend::cuda
