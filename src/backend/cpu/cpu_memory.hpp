// Host memory that is kept: a training step allocates the same sizes again and again, and giving
// them back to the system costs a page fault per 4 KiB in each step.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "backend/memory.hpp"
#include "backend/size_class.hpp"

namespace lockstep::inline v0::backend::cpu {

/// Blocks come in size classes.
class CpuMemory final : public Memory {
 public:
  CpuMemory();
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

 private:
  struct FreeBlocks {
    std::vector<void*> blocks;       // room for every block of the class, so release cannot fail
    std::size_t existing_count = 0;  // handed out and free
  };

  void* take_cached(const SizeClass& size);
  void* take_new(const SizeClass& size);
  void free_cached() noexcept;

  mutable std::mutex mutex_;
  std::vector<FreeBlocks> classes_;
  MemoryCounters counters_;
};

}  // namespace lockstep::inline v0::backend::cpu
