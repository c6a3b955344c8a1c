#include "backend/cuda/pinned_pool.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace lockstep::inline v0::backend::cuda {

PinnedPool::Block PinnedPool::take(std::int64_t byte_count) {
  constexpr std::int64_t kSmallest = 4096;
  const std::int64_t wanted = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max(byte_count, kSmallest))));
  const std::lock_guard lock(mutex_);
  for (auto it = in_flight_.begin(); it != in_flight_.end();) {
    const cudaError_t status = cudaEventQuery(it->passed.get());
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      ++it;
      continue;
    }
    // A mark that a capture of the program's own took cannot be asked for, and its graph reads the
    // block: nobody gets it again.
    if (status == cudaErrorCapturedEvent) {
      static_cast<void>(cudaGetLastError());
      static_cast<void>(new Block(std::move(*it)));
    } else {
      check(status, "cudaEventQuery");
      free_.push_back(std::move(*it));
    }
    it = in_flight_.erase(it);
  }
  const auto fits = std::find_if(free_.begin(), free_.end(),
                                 [&](const Block& block) { return block.byte_count == wanted; });
  if (fits != free_.end()) {
    Block block = std::move(*fits);
    free_.erase(fits);
    return block;
  }
  void* memory = nullptr;
  const std::string call = "cudaHostAlloc of " + std::to_string(wanted) + " bytes";
  check(cudaHostAlloc(&memory, static_cast<std::size_t>(wanted), cudaHostAllocPortable),
        call.c_str());
  Owned<void*, cudaFreeHost> owned(memory);
  return {.memory = std::move(owned), .byte_count = wanted, .passed = make_event()};
}

void PinnedPool::give_back(Block block, cudaStream_t stream) {
  check(cudaEventRecord(block.passed.get(), stream), "cudaEventRecord");
  const std::lock_guard lock(mutex_);
  in_flight_.push_back(std::move(block));
}

void PinnedPool::give_back_late(Block block, cudaStream_t stream) noexcept {
  if (cudaEventRecord(block.passed.get(), stream) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return;
  }
  const std::lock_guard lock(mutex_);
  in_flight_.push_back(std::move(block));
}

void PinnedPool::give_back(Block block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(block));
}

}  // namespace lockstep::inline v0::backend::cuda
