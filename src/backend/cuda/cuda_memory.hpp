// Memory of one CUDA device: a stream-ordered cache over cudaMalloc. A freed block is handed out
// again on the stream that it was allocated for, without waiting: what comes later on that stream
// runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/cuda/pinned_pool.hpp"
#include "backend/memory.hpp"

namespace lockstep::inline v0::backend::cuda {

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(int index) : index_(index) {}

  void* allocate(std::int64_t byte_count, Queue queue) override;
  void release(void* pointer, std::int64_t byte_count, Queue queue) noexcept override;
  void trim() noexcept override;
  MemoryCounters counters() const noexcept override;
  void copy(void* destination, const void* source, std::int64_t byte_count, Queue queue) override;
  void copy_strided(void* destination, const void* source, std::int64_t element_bytes,
                    const StridedCopy& axes, Queue queue) override;
  void copy_from_host(void* destination, const void* source, std::int64_t byte_count,
                      Queue queue) override;
  void copy_to_host(void* destination, const void* source, std::int64_t byte_count,
                    Queue queue) override;
  void set_zero(void* destination, std::int64_t byte_count, Queue queue) override;

  /// Free blocks of one user: everybody, or one captured step, whose memory no one else may write
  /// to between its replays.
  class Pool;
  std::shared_ptr<Pool> make_pool();
  /// What this thread allocates comes from that pool, and blocks that it frees stay there. Null:
  /// the common one.
  void use_pool(std::shared_ptr<Pool> pool);
  /// The blocks of a pool that is no longer used, and on which no work is left, go to the common
  /// one: those of the stream `captured` to `stream`.
  void dissolve(Pool& pool, cudaStream_t captured, cudaStream_t stream) noexcept;

  PinnedPool& pinned() noexcept { return pinned_; }

 private:
  struct Block {
    std::int64_t byte_count = 0;
    cudaStream_t stream = nullptr;
    std::shared_ptr<Pool> pool;
  };

  /// Whether this thread captures a step on this device.
  bool captured() const noexcept;
  /// Null if the pool has none of that size for the stream.
  void* take_cached(Pool& pool, cudaStream_t stream, std::int64_t byte_count);
  void* take_new(std::int64_t byte_count);
  void free_cached(Pool& pool) noexcept;
  /// What comes on `stream` runs after what is on `other` now. False if that could not be had.
  bool order_after(cudaStream_t stream, cudaStream_t other) noexcept;

  int index_;
  PinnedPool pinned_;
  mutable std::mutex mutex_;
  std::shared_ptr<Pool> common_ = make_pool();
  std::unordered_map<void*, Block> blocks_;  // handed out
  std::vector<void*> unordered_;             // freed, but the device may still be at work there
  MemoryCounters counters_;
};

class CudaMemory::Pool {
 public:
  explicit Pool(const CudaMemory* of) noexcept : owner(of) {}
  const CudaMemory* owner;
  /// Free blocks by stream and size.
  std::map<std::pair<cudaStream_t, std::int64_t>, std::vector<void*>> free_blocks;
};

/// Returns when everything on the stream has run. Looks at the watches (stream_watch.hpp) while it
/// waits, so that a failed communicator ends it.
void wait_for(cudaStream_t stream);

}  // namespace lockstep::inline v0::backend::cuda
