#include "backend/cuda/cuda_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>

#include <lockstep/core/error.hpp>
#include "backend/capture.hpp"
#include "backend/capture_refused.hpp"
#include "backend/cuda/cuda_device.hpp"
#include "backend/size_class.hpp"
#include "backend/stream_watch.hpp"
#include "kernels/strided_copy.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 46;
constexpr std::int64_t kStaging = 16 * 1024 * 1024;  // bytes of one pinned piece of a transfer
constexpr std::size_t kStagedPieces = 4;             // on their way at once

thread_local std::shared_ptr<CudaMemory::Pool> current_pool;

}  // namespace

namespace {

/// What cudaStreamQuery or cudaEventQuery says.
bool has_passed(cudaError_t status, const char* call) {
  if (status == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(status, call);
  return true;
}

void wait_for(cudaEvent_t event) {
  wait_watched([event] { return has_passed(cudaEventQuery(event), "cudaEventQuery"); });
}

}  // namespace

void wait_for(cudaStream_t stream) {
  wait_watched([stream] { return has_passed(cudaStreamQuery(stream), "cudaStreamQuery"); });
}

std::shared_ptr<CudaMemory::Pool> CudaMemory::make_pool() { return std::make_shared<Pool>(this); }

void CudaMemory::use_pool(std::shared_ptr<Pool> pool) { current_pool = std::move(pool); }

void CudaMemory::dissolve(Pool& pool, cudaStream_t captured, cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto place_after = [&](cudaStream_t of) { return of == captured ? stream : of; };
  for (auto& [place, pointers] : pool.free_blocks) {
    auto& common = common_->free_blocks[{place_after(place.first), place.second}];
    common.insert(common.end(), pointers.begin(), pointers.end());
  }
  pool.free_blocks.clear();
  for (auto& [pointer, block] : blocks_) {
    if (block.pool.get() != &pool) continue;
    block.pool = common_;
    block.stream = place_after(block.stream);
  }
}

void* CudaMemory::allocate(std::int64_t byte_count, Queue queue) {
  if (byte_count == 0) return nullptr;
  if (byte_count < 0 || byte_count > kLargest)
    throw DeviceError("[cuda] allocation of " + std::to_string(byte_count) + " bytes is impossible",
                      ENOMEM);
  const std::int64_t size = size_class(byte_count).byte_count;
  const cudaStream_t stream = stream_of(queue);
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Pool>& pool = captured() ? current_pool : common_;
  // A captured step may keep a free block of everybody's for itself; never the other way round.
  void* pointer = take_cached(*pool, stream, size);
  if (pointer == nullptr && pool != common_) pointer = take_cached(*common_, stream, size);
  if (pointer == nullptr) pointer = take_new(size);
  blocks_[pointer] = {size, stream, pool};
  counters_.bytes_in_use += size;
  return pointer;
}

void* CudaMemory::take_cached(Pool& pool, cudaStream_t stream, std::int64_t byte_count) {
  auto& cached = pool.free_blocks[{stream, byte_count}];
  if (cached.empty()) return nullptr;
  void* pointer = cached.back();
  cached.pop_back();
  counters_.bytes_cached -= byte_count;
  return pointer;
}

bool CudaMemory::captured() const noexcept {
  return current_pool != nullptr && current_pool->owner == this;
}

void* CudaMemory::take_new(std::int64_t byte_count) {
  const DeviceGuard guard(index_);
  void* pointer = nullptr;
  cudaError_t status = cudaMalloc(&pointer, static_cast<std::size_t>(byte_count));
  if (status == cudaErrorMemoryAllocation && counters_.bytes_cached > 0 &&
      current_capture() == nullptr) {
    static_cast<void>(cudaGetLastError());
    free_cached(*common_);
    status = cudaMalloc(&pointer, static_cast<std::size_t>(byte_count));
  }
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    if (captured())
      throw CaptureRefused("a captured step finds no memory for a recording on cuda:" +
                           std::to_string(index_));
    throw DeviceError("[cuda] out of memory on cuda:" + std::to_string(index_) +
                          ": allocation of " + std::to_string(byte_count) + " bytes with " +
                          std::to_string(counters_.bytes_in_use) +
                          " bytes in use by this process; use a smaller batch or model",
                      status);
  }
  check(status, "cudaMalloc");
  ++counters_.system_requests;
  return pointer;
}

void CudaMemory::release(void* pointer, std::int64_t, Queue queue) noexcept {
  if (pointer == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(pointer);
  Block& block = it->second;
  // What this thread's current stream still does with the block comes before whatever is next on
  // the block's own stream.
  const cudaStream_t stream = stream_of(queue);
  counters_.bytes_in_use -= block.byte_count;
  // While a step is captured nothing else may wait for it: the block stays with the recording.
  if (stream != block.stream && !captured() && !order_after(block.stream, stream)) {
    unordered_.push_back(pointer);  // cannot be handed out again safely
    blocks_.erase(it);
    return;
  }
  // What a captured step frees is still written to by its replays.
  Pool& pool = captured() ? *current_pool : *block.pool;
  pool.free_blocks[{block.stream, block.byte_count}].push_back(pointer);
  counters_.bytes_cached += block.byte_count;
  blocks_.erase(it);
}

bool CudaMemory::order_after(cudaStream_t stream, cudaStream_t other) noexcept {
  try {
    const DeviceGuard guard(index_);
    const Event event = make_event();
    check(cudaEventRecord(event.get(), other), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent");
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

void CudaMemory::trim() noexcept {
  const std::lock_guard lock(mutex_);
  if (current_capture() == nullptr) free_cached(*common_);
}

void CudaMemory::free_cached(Pool& pool) noexcept try {
  const DeviceGuard guard(index_);
  for (auto& [place, pointers] : pool.free_blocks)
    for (void* pointer : pointers) {
      static_cast<void>(cudaFree(pointer));
      counters_.bytes_cached -= place.second;
    }
  pool.free_blocks.clear();
  // cudaFree waits for the device.
  for (void* pointer : std::exchange(unordered_, {})) static_cast<void>(cudaFree(pointer));
} catch (const DeviceError&) {  // the blocks stay
}

MemoryCounters CudaMemory::counters() const noexcept {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void CudaMemory::copy(void* destination, const void* source, std::int64_t byte_count, Queue queue) {
  if (byte_count == 0 || destination == source) return;
  const DeviceGuard guard(index_);
  check(cudaMemcpyAsync(destination, source, static_cast<std::size_t>(byte_count),
                        cudaMemcpyDeviceToDevice, stream_of(queue)),
        "cudaMemcpyAsync within the device");
}

void CudaMemory::copy_strided(void* destination, const void* source, std::int64_t element_bytes,
                              const StridedCopy& axes, Queue queue) {
  kernels::StridedCopy copy;
  copy.axes = axes.axes;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(axes.axes); ++i) {
    copy.sizes[i] = axes.sizes[i];
    copy.source_strides[i] = axes.source_strides[i];
    copy.destination_strides[i] = axes.destination_strides[i];
    count *= axes.sizes[i];
  }
  const DeviceGuard guard(index_);
  check_launch(kernels::strided_copy(copy, element_bytes, source, destination, stream_of(queue)),
               "copy_strided", count);
}

void CudaMemory::copy_from_host(void* destination, const void* source, std::int64_t byte_count,
                                Queue queue) {
  if (byte_count == 0) return;
  const DeviceGuard guard(index_);
  const cudaStream_t stream = stream_of(queue);
  // Always by way of pinned memory: the source may change as soon as this returns, and CUDA itself
  // reads memory that the program has pinned later.
  std::deque<cudaEvent_t> passing;
  for (std::int64_t begin = 0; begin < byte_count; begin += kStaging) {
    const auto count = static_cast<std::size_t>(std::min(kStaging, byte_count - begin));
    if (passing.size() == kStagedPieces) {
      wait_for(passing.front());
      passing.pop_front();
    }
    PinnedPool::Block block = pinned_.take(static_cast<std::int64_t>(count));
    std::memcpy(block.data(), static_cast<const std::byte*>(source) + begin, count);
    check(cudaMemcpyAsync(static_cast<std::byte*>(destination) + begin, block.data(), count,
                          cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync from the host");
    if (Capture* capture = current_capture()) {
      capture->keep(std::make_shared<PinnedPool::Block>(std::move(block)));
    } else {
      passing.push_back(block.passed.get());
      pinned_.give_back(std::move(block), stream);
    }
  }
}

void CudaMemory::copy_to_host(void* destination, const void* source, std::int64_t byte_count,
                              Queue queue) {
  if (byte_count == 0) return;
  if (Capture* capture = current_capture()) capture->refuse("reads a value back to the host");
  const DeviceGuard guard(index_);
  const cudaStream_t stream = stream_of(queue);
  DeviceState& device = device_state(index_);
  PinnedPool::Block block = pinned_.take(std::min(byte_count, kStaging));
  try {
    for (std::int64_t begin = 0; begin < byte_count; begin += kStaging) {
      const auto count = static_cast<std::size_t>(std::min(kStaging, byte_count - begin));
      check(cudaMemcpyAsync(block.data(), static_cast<const std::byte*>(source) + begin, count,
                            cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync to the host");
      if (begin == 0) device.copy_status(stream);
      wait_for(stream);
      std::memcpy(static_cast<std::byte*>(destination) + begin, block.data(), count);
    }
  } catch (const Error&) {
    // The device may still write there, and nobody waits for it: it may be behind a collective.
    pinned_.give_back_late(std::move(block), stream);
    throw;
  }
  pinned_.give_back(std::move(block));
  device.check_status();
}

void CudaMemory::set_zero(void* destination, std::int64_t byte_count, Queue queue) {
  if (byte_count == 0) return;
  const DeviceGuard guard(index_);
  check(cudaMemsetAsync(destination, 0, static_cast<std::size_t>(byte_count), stream_of(queue)),
        "cudaMemsetAsync");
}

}  // namespace lockstep::inline v0::backend::cuda
