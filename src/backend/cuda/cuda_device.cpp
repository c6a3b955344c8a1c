#include "backend/cuda/cuda_device.hpp"

#include <array>
#include <atomic>
#include <string>
#include <utility>

#include <lockstep/core/error.hpp>
#include "backend/cuda/cuda_elementwise.hpp"
#include "backend/cuda/cuda_embedding.hpp"
#include "backend/cuda/cuda_gemm.hpp"
#include "backend/cuda/cuda_loss.hpp"
#include "backend/cuda/cuda_normalization.hpp"
#include "backend/cuda/cuda_optimizer.hpp"
#include "backend/cuda/cuda_random.hpp"
#include "backend/cuda/cuda_reduction.hpp"
#include "backend/cuda/cuda_scalars.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

constexpr int kMaxDevices = 128;

/// Streams that this thread's scopes have chosen, by device; null: lockstep's own.
thread_local std::array<Queue, kMaxDevices> chosen_queues;
thread_local std::array<bool, kMaxDevices> has_chosen_queue;

/// By device; until the status is looked at next.
std::array<std::atomic<bool>, kMaxDevices> ranks_failed;

int processors(int index) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, index),
        "cudaDeviceGetAttribute");
  return count;
}

Stream stream_on(int index) {
  const DeviceGuard guard(index);
  return make_stream();
}

/// Whether it is about what other ranks do.
bool is_of_ranks(Problem problem) {
  return problem == Problem::frozen_differently || problem == Problem::other_step;
}

}  // namespace

// The families are never destroyed, as the device itself.
DeviceState::DeviceState(int index)
    : index_(index),
      processor_count_(processors(index)),
      stream_(stream_on(index)),
      memory_(index),
      backend_(new Backend{memory_, *new CudaElementwise(index), *new CudaReduction(index),
                           *new CudaGemm(index), *new CudaLoss(index), *new CudaOptimizer(index),
                           *new CudaRandom(index), *new CudaScalars(index),
                           *new CudaNormalization(index), *new CudaEmbedding(index), false}) {}

std::int32_t* DeviceState::status() {
  const std::lock_guard lock(status_mutex_);
  if (status_) return static_cast<std::int32_t*>(status_.get());
  const DeviceGuard guard(index_);
  // Nothing is kept before all of it is there.
  PinnedPool::Block copy = memory_.pinned().take(sizeof(std::int32_t));
  *reinterpret_cast<std::int32_t*>(copy.data()) = 0;
  void* memory = nullptr;
  check(cudaMalloc(&memory, sizeof(std::int32_t)), "cudaMalloc");
  DeviceWord word(memory);
  // On a stream that nobody captures, and at its end before another stream marks something.
  check(cudaMemsetAsync(memory, 0, sizeof(std::int32_t), stream_.get()), "cudaMemsetAsync");
  check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  status_ = std::move(word);
  status_copy_ = std::move(copy);
  return static_cast<std::int32_t*>(memory);
}

void DeviceState::copy_status(cudaStream_t stream) {
  const std::lock_guard lock(status_mutex_);
  if (!status_) return;
  check(cudaMemcpyAsync(status_copy_.data(), status_.get(), sizeof(std::int32_t),
                        cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync to the host");
}

void DeviceState::check_status() {
  const std::lock_guard lock(status_mutex_);
  if (!status_) return;
  auto& copy = *reinterpret_cast<std::int32_t*>(status_copy_.data());
  const std::int32_t found = std::exchange(copy, 0);
  const bool forget = ranks_failed[static_cast<std::size_t>(index_)].exchange(false);
  if (found == 0) return;
  check(cudaMemsetAsync(status_.get(), 0, sizeof(std::int32_t), current_stream(index_)),
        "cudaMemsetAsync");
  std::string text;
  for (const Problem problem : {Problem::label_out_of_range, Problem::index_out_of_range,
                                Problem::frozen_differently, Problem::other_step})
    if ((found & static_cast<std::int32_t>(problem)) != 0 && !(forget && is_of_ranks(problem)))
      text += (text.empty() ? "" : "; ") + std::string(text_of(problem));
  if (text.empty()) return;
  throw InvalidUsage("[cuda:" + std::to_string(index_) + "] in a step before this read: " + text);
}

DeviceState& device_state(int index) {
  static std::mutex mutex;
  static std::array<std::atomic<DeviceState*>, kMaxDevices> states;
  if (index >= 0 && index < kMaxDevices)
    if (DeviceState* state =
            states[static_cast<std::size_t>(index)].load(std::memory_order_acquire))
      return *state;
  const std::lock_guard lock(mutex);
  const int count = cuda_device_count();
  if (index < 0 || index >= std::min(count, kMaxDevices))
    throw BackendUnavailable("[cuda] device cuda:" + std::to_string(index) +
                             " was asked for; this process can use " + std::to_string(count) +
                             (count == 0 ? ": " + cuda_missing_reason() : std::string()));
  auto& place = states[static_cast<std::size_t>(index)];
  if (place.load() == nullptr) place.store(new DeviceState(index), std::memory_order_release);
  return *place.load();
}

cudaStream_t current_stream(int index) {
  DeviceState& state = device_state(index);
  const auto i = static_cast<std::size_t>(index);
  return has_chosen_queue[i] ? stream_of(chosen_queues[i]) : state.stream();
}

}  // namespace lockstep::inline v0::backend::cuda

namespace lockstep::inline v0 {

int cuda_device_count() noexcept {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

namespace backend {

std::string cuda_missing_reason() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess)
    return count > 0 ? "" : "the driver shows no device; look at CUDA_VISIBLE_DEVICES";
  static_cast<void>(cudaGetLastError());
  if (status == cudaErrorInsufficientDriver) {
    int runtime = 0;
    int driver = 0;
    static_cast<void>(cudaRuntimeGetVersion(&runtime));
    static_cast<void>(cudaDriverGetVersion(&driver));
    const auto version = [](int number) {
      return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    };
    return driver == 0 ? "no NVIDIA driver was found"
                       : "the NVIDIA driver is for CUDA " + version(driver) +
                             ", this build needs " + version(runtime) + "; update the driver";
  }
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) +
         "); look at CUDA_VISIBLE_DEVICES and nvidia-smi";
}

CudaDeviceDescription cuda_device_description(int index) {
  cuda::device_state(index);
  const cuda::DeviceGuard guard(index);  // which is what an error names
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  CudaDeviceDescription description{.name = properties.name, .uuid = "GPU", .pci = {}};
  char bus[32] = {};
  cuda::check(cudaDeviceGetPCIBusId(bus, sizeof bus, index), "cudaDeviceGetPCIBusId");
  description.pci = bus;
  // As nvidia-smi writes it: 4, 2, 2, 2 and 6 bytes.
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) description.uuid += '-';
    description.uuid += kDigits[byte >> 4];
    description.uuid += kDigits[byte & 15];
  }
  return description;
}

const Backend& cuda_backend(int index) { return cuda::device_state(index).backend(); }

Queue cuda_current_queue(int index) { return {cuda::current_stream(index)}; }

ChosenQueue set_cuda_queue(int index, ChosenQueue queue) {
  cuda::device_state(index);
  // Memory goes from one user of a stream to the next, and that handle is another in each thread.
  if (queue.chosen && cuda::stream_of(queue.queue) == cudaStreamPerThread)
    throw InvalidUsage(
        "[cuda] cudaStreamPerThread cannot be chosen; make a stream with cudaStreamCreate");
  const auto i = static_cast<std::size_t>(index);
  const ChosenQueue before{cuda::has_chosen_queue[i], cuda::chosen_queues[i]};
  cuda::has_chosen_queue[i] = queue.chosen;
  cuda::chosen_queues[i] = queue.queue;
  return before;
}

void cuda_order(int index, Queue later, Queue earlier) {
  if (later.stream == earlier.stream) return;
  cuda::device_state(index);
  const cuda::DeviceGuard guard(index);  // null is the default stream of the current device
  const cuda::Event event = cuda::make_event();
  cuda::check(cudaEventRecord(event.get(), cuda::stream_of(earlier)), "cudaEventRecord");
  cuda::check(cudaStreamWaitEvent(cuda::stream_of(later), event.get(), 0), "cudaStreamWaitEvent");
}

int cuda_device_of(const void* pointer) {
  if (cuda_device_count() == 0)
    throw BackendUnavailable("[cuda] borrow of device memory: " + cuda_missing_reason());
  cudaPointerAttributes attributes{};
  cuda::check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  const bool on_device =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_device ? attributes.device : -1;
}

int cuda_current_device() {
  int index = 0;
  cuda::check(cudaGetDevice(&index), "cudaGetDevice");
  return index;
}

void forget_problems_of_ranks(int index) noexcept {
  if (index >= 0 && index < cuda::kMaxDevices)
    cuda::ranks_failed[static_cast<std::size_t>(index)] = true;
}

}  // namespace backend
}  // namespace lockstep::inline v0
