// A recording as a CUDA graph.
#pragma once

#include <optional>
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
  void before_each_time(std::function<void()> check) override;
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
  Stream stream_;           // of the capture alone: no other thread's work gets into it
  ChosenQueue before_;      // what this thread had chosen
  bool capturing_ = false;  // the stream, as far as is known
  std::optional<cudaStream_t> replayed_on_;
  void* table_ = nullptr;  // device memory of all uploads, so that they are one copy
  std::int64_t table_end_ = 0;
  std::vector<Upload> uploads_;
  std::vector<std::function<void()>> checks_;
  std::vector<std::function<void()>> restores_;
  std::vector<std::shared_ptr<void>> kept_;
  ExecutableGraph executable_;
};

}  // namespace lockstep::inline v0::backend::cuda
