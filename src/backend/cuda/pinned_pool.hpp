// Pinned host memory for transfers that do not stop the host. Blocks are used again when the copy
// that read or wrote them has passed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend/cuda/owned.hpp"

namespace lockstep::inline v0::backend::cuda {

/// Thread-safe. One per device.
class PinnedPool {
 public:
  struct Block {
    Owned<void*, cudaFreeHost> memory;
    std::int64_t byte_count = 0;  // a power of two
    Event passed;

    std::byte* data() const noexcept { return static_cast<std::byte*>(memory.get()); }
  };

  /// A block of at least so many bytes that no copy uses. The device must be current.
  Block take(std::int64_t byte_count);
  /// The block is free again when `stream` has come to here.
  void give_back(Block block, cudaStream_t stream);
  /// The same after an error: a block that cannot be marked is given back to the system, which may
  /// wait for the device.
  void give_back_late(Block block, cudaStream_t stream) noexcept;
  /// The block is free now.
  void give_back(Block block);

 private:
  std::mutex mutex_;
  std::vector<Block> free_;
  std::vector<Block> in_flight_;  // in the order in which they were given back
};

}  // namespace lockstep::inline v0::backend::cuda
