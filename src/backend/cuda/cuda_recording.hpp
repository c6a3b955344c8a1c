// A recording as a CUDA graph.
#pragma once

#include <vector>

#include "backend/capture.hpp"
#include "backend/cuda/cuda_device.hpp"

namespace lockstep::inline v0::backend::cuda {

using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using ExecutableGraph = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

class CudaRecording final : public Recording {
 public:
  explicit CudaRecording(int index);
  /// Waits until no replay runs any more: its memory goes back to everybody.
  ~CudaRecording() override;

  void begin() override;
  void end() override;
  void abandon() noexcept override;
  void replay() override;

  void* upload_each_time(std::int64_t byte_count, std::function<void(std::byte*)> fill) override;
  void after_each_time(std::function<void()> restore) override;
  void keep(std::shared_ptr<void> object) override;

 private:
  struct Upload {
    std::int64_t begin = 0;  // in the table
    std::function<void(std::byte*)> fill;
  };

  void leave() noexcept;

  DeviceState& device_;
  std::shared_ptr<CudaMemory::Pool> pool_;
  cudaStream_t stream_ = nullptr;  // of the capture
  cudaStream_t replayed_on_ = nullptr;
  bool capturing_ = false;  // the stream, as far as is known
  void* table_ = nullptr;   // device memory of all uploads, so that they are one copy
  std::int64_t table_end_ = 0;
  std::vector<Upload> uploads_;
  std::vector<std::function<void()>> restores_;
  std::vector<std::shared_ptr<void>> kept_;
  ExecutableGraph executable_;
};

}  // namespace lockstep::inline v0::backend::cuda
