#include "emulated_launch.hpp"

#include "emulation/src/block.hpp"
#include "emulation/src/graph.hpp"
#include "emulation/src/streams.hpp"

namespace emulation {
namespace {

constexpr unsigned kMaximumThreads = 1024;
constexpr unsigned kMaximumGrid = 65535;  // of y and z

class KernelOperation : public Operation {
 public:
  KernelOperation(dim3 grid, dim3 block, std::function<void()> body)
      : grid_(grid), block_(block), body_(std::move(body)) {}

  Progress run() override {
    run_grid(grid_, block_, body_);
    const Lock lock(state().mutex);
    ++state().counters.kernel_runs;
    return Progress::done;
  }

  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<KernelOperation>(*this);
  }

 private:
  dim3 grid_;
  dim3 block_;
  std::function<void()> body_;
};

bool is_valid(const cudaLaunchConfig_t& config) {
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return false;
  if (grid.x > 2147483647u || grid.y > kMaximumGrid || grid.z > kMaximumGrid) return false;
  if (block.x == 0 || block.y == 0 || block.z == 0) return false;
  if (block.x > kMaximumThreads || block.y > kMaximumThreads || block.z > 64) return false;
  return std::uint64_t{block.x} * block.y * block.z <= kMaximumThreads;
}

cudaError_t check_stream(cudaStream_t handle) {
  const Lock lock(state().mutex);
  const StreamRef stream = find_stream(handle);
  if (stream == nullptr || stream->device != this_thread().device) {
    return cudaErrorInvalidResourceHandle;
  }
  ++state().counters.kernel_launches;
  return cudaSuccess;
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> body) {
  return api_call("cudaLaunchKernelExC", [&] {
    if (!is_valid(config)) return cudaErrorInvalidConfiguration;
    // Shared memory of a size given at the launch is not offered.
    if (config.dynamicSmemBytes != 0) return cudaErrorNotSupported;
    if (const cudaError_t error = check_stream(config.stream)) return error;
    return enqueue(config.stream, std::make_unique<KernelOperation>(config.gridDim, config.blockDim,
                                                                    std::move(body)));
  });
}

}  // namespace emulation
