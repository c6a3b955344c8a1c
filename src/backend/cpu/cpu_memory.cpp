#include "backend/cpu/cpu_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <lockstep/core/error.hpp>
#include "backend/cpu/poison.hpp"
#include "backend/cpu/thread_pool.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kHugePage = 2 * 1024 * 1024;
constexpr std::int64_t kLargest = std::int64_t{1} << 46;  // beyond what an address space holds

/// Null when the system has none.
void* system_allocate(std::int64_t byte_count) {
  const bool large = byte_count >= 2 * kHugePage;
  void* pointer = nullptr;
  if (posix_memalign(&pointer, static_cast<std::size_t>(large ? kHugePage : kAlignment),
                     static_cast<std::size_t>(byte_count)) != 0)
    return nullptr;
#ifdef MADV_HUGEPAGE
  // Only advice: without huge pages everything works, with more page misses.
  if (large)
    static_cast<void>(madvise(pointer, static_cast<std::size_t>(byte_count), MADV_HUGEPAGE));
#endif
  return pointer;
}

void copy_bytes(void* destination, const void* source, std::int64_t byte_count) {
  if (destination == source) return;
  for_ranges(byte_count, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<char*>(destination) + begin, static_cast<const char*>(source) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

CpuMemory::CpuMemory() : classes_(size_class(kLargest).index + 1) {}

void* CpuMemory::allocate(std::int64_t byte_count, Queue) {
  if (byte_count == 0) return nullptr;
  if (byte_count < 0 || byte_count > kLargest)
    throw DeviceError("[cpu] allocation of " + std::to_string(byte_count) + " bytes is impossible",
                      ENOMEM);
  const SizeClass size = size_class(byte_count);
  const std::lock_guard lock(mutex_);
  void* pointer = take_cached(size);
  if (pointer == nullptr) pointer = take_new(size);
  if (pointer == nullptr && counters_.bytes_cached > 0) {
    free_cached();
    pointer = take_new(size);
  }
  if (pointer == nullptr)
    throw DeviceError("[cpu] out of memory: allocation of " + std::to_string(byte_count) +
                          " bytes with " + std::to_string(counters_.bytes_in_use) +
                          " bytes in use; use a smaller batch or model",
                      ENOMEM);
  counters_.bytes_in_use += size.byte_count;
  unpoison(pointer, byte_count);
  return pointer;
}

void CpuMemory::release(void* pointer, std::int64_t byte_count, Queue) noexcept {
  if (pointer == nullptr) return;
  const SizeClass size = size_class(byte_count);
  poison(pointer, size.byte_count);
  const std::lock_guard lock(mutex_);
  classes_[size.index].blocks.push_back(pointer);
  counters_.bytes_in_use -= size.byte_count;
  counters_.bytes_cached += size.byte_count;
}

void* CpuMemory::take_cached(const SizeClass& size) {
  auto& blocks = classes_[size.index].blocks;
  if (blocks.empty()) return nullptr;
  void* pointer = blocks.back();  // the last one in, which the caches know best
  blocks.pop_back();
  counters_.bytes_cached -= size.byte_count;
  return pointer;
}

void* CpuMemory::take_new(const SizeClass& size) {
  FreeBlocks& free_blocks = classes_[size.index];
  if (free_blocks.blocks.capacity() <= free_blocks.existing_count)
    free_blocks.blocks.reserve(std::max<std::size_t>(8, 2 * free_blocks.existing_count));
  void* pointer = system_allocate(size.byte_count);
  if (pointer == nullptr) return nullptr;
  ++free_blocks.existing_count;
  ++counters_.system_requests;
  poison(pointer, size.byte_count);
  return pointer;
}

void CpuMemory::trim() noexcept {
  const std::lock_guard lock(mutex_);
  free_cached();
}

void CpuMemory::free_cached() noexcept {
  for (FreeBlocks& free_blocks : classes_) {
    for (void* pointer : free_blocks.blocks) std::free(pointer);
    free_blocks.existing_count -= free_blocks.blocks.size();
    free_blocks.blocks.clear();
  }
  counters_.bytes_cached = 0;
}

MemoryCounters CpuMemory::counters() const noexcept {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void CpuMemory::copy(void* destination, const void* source, std::int64_t byte_count, Queue) {
  copy_bytes(destination, source, byte_count);
}
void CpuMemory::copy_from_host(void* destination, const void* source, std::int64_t byte_count,
                               Queue) {
  copy_bytes(destination, source, byte_count);
}
void CpuMemory::copy_to_host(void* destination, const void* source, std::int64_t byte_count,
                             Queue) {
  copy_bytes(destination, source, byte_count);
}
void CpuMemory::set_zero(void* destination, std::int64_t byte_count, Queue) {
  for_ranges(byte_count, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(destination) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace lockstep::inline v0::backend::cpu
