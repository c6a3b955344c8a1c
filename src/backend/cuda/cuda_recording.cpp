#include "backend/cuda/cuda_recording.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <lockstep/core/error.hpp>
#include "backend/capture_refused.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

constexpr std::int64_t kTable = 64 * 1024;  // bytes

/// For a destructor: returns when everything on the stream has run, or false if the device does not
/// tell. Does not look at the watches, because the program is to hear what they say. What waits
/// there for other ranks is aborted at the deadline of its communicator.
bool comes_to_its_end(int index, cudaStream_t stream) noexcept try {
  const DeviceGuard guard(index);  // null is the default stream of the current device
  for (int errors = 0; errors < 2;) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaSuccess) return true;
    static_cast<void>(cudaGetLastError());
    if (status != cudaErrorNotReady) ++errors;
    std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
  return false;
} catch (const DeviceError&) {
  return false;
}

}  // namespace

CudaRecording::CudaRecording(int index)
    : device_(device_state(index)), pool_(device_.memory().make_pool()) {
  const DeviceGuard guard(index);
  stream_ = make_stream();
  device_.memory().trim();  // a recording cannot use what is free now
  table_ = device_.memory().allocate(kTable, {device_.stream()});
}

CudaRecording::~CudaRecording() {
  if (capturing_) abandon();
  if (replayed_on_ && !comes_to_its_end(device_.index(), *replayed_on_)) {
    // The device may still write there: nobody gets that memory.
    static_cast<void>(new std::vector<std::shared_ptr<void>>(std::move(kept_)));
    return;
  }
  executable_ = {};  // before what it refers to
  device_.memory().release(table_, kTable, {device_.stream()});
  kept_.clear();
  device_.memory().dissolve(*pool_, stream_.get(), device_.stream());
}

void CudaRecording::begin() {
  const DeviceGuard guard(device_.index());
  // Relaxed: this thread may still allocate, and other threads do what they do.
  check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed),
        "cudaStreamBeginCapture");
  capturing_ = true;
  before_ = set_cuda_queue(device_.index(), {.chosen = true, .queue = {stream_.get()}});
  device_.memory().use_pool(pool_);
  set_current_capture(this);
}

void CudaRecording::leave() noexcept {
  if (capturing_) set_cuda_queue(device_.index(), before_);
  device_.memory().use_pool(nullptr);
  set_current_capture(nullptr);
}

void CudaRecording::end() {
  const DeviceGuard guard(device_.index());
  leave();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_.get(), &graph);
  const Graph owned(graph);
  capturing_ = ended != cudaSuccess;
  if (capturing_) {
    static_cast<void>(cudaGetLastError());
    throw CaptureRefused(std::string("capturing a step: ") + cudaGetErrorString(ended) + " (" +
                         cudaGetErrorName(ended) + ")");
  }
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  executable_ = ExecutableGraph(executable);
}

void CudaRecording::abandon() noexcept {
  leave();
  if (!std::exchange(capturing_, false)) return;  // a capture of the program's own stays open
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream_.get(), &graph));
  static_cast<void>(cudaGetLastError());
  const Graph owned(graph);
}

void CudaRecording::replay() {
  const DeviceGuard guard(device_.index());
  const cudaStream_t stream = current_stream(device_.index());
  for (const auto& passes : checks_) passes();
  if (!uploads_.empty()) {
    PinnedPool::Block block = device_.memory().pinned().take(table_end_);
    for (const Upload& upload : uploads_) upload.fill(block.data() + upload.begin);
    check(cudaMemcpyAsync(table_, block.data(), static_cast<std::size_t>(table_end_),
                          cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync from the host");
    device_.memory().pinned().give_back(std::move(block), stream);
  }
  check(cudaGraphLaunch(executable_.get(), stream), "cudaGraphLaunch");
  replayed_on_ = stream;
  for (const auto& restore : restores_) restore();
}

void* CudaRecording::upload_each_time(std::int64_t byte_count,
                                      std::function<void(std::byte*)> fill) {
  constexpr std::int64_t kAlignment = 64;
  const std::int64_t begin = table_end_;
  if (begin + byte_count > kTable) refuse("changes more than 64 KiB of numbers from step to step");
  table_end_ = (begin + byte_count + kAlignment - 1) / kAlignment * kAlignment;
  uploads_.push_back({begin, std::move(fill)});
  return static_cast<std::byte*>(table_) + begin;
}

void CudaRecording::before_each_time(std::function<void()> check) {
  checks_.push_back(std::move(check));
}

void CudaRecording::after_each_time(std::function<void()> restore) {
  restores_.push_back(std::move(restore));
}

void CudaRecording::keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }

}  // namespace lockstep::inline v0::backend::cuda

namespace lockstep::inline v0::backend {

std::unique_ptr<Recording> make_cuda_recording(int index) {
  return std::make_unique<cuda::CudaRecording>(index);
}

}  // namespace lockstep::inline v0::backend
