#include "emulation/src/memory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include "emulation/src/sanitizers.hpp"
#include "emulation/stream_queue.hpp"

namespace emulation {
namespace {

constexpr std::size_t kGuardBytes = 256;  // also the alignment, as CUDA's allocations have
constexpr unsigned char kGuard = 0xfd;
constexpr unsigned char kPoison = 0xff;
constexpr std::size_t kQuarantineBytes = std::size_t{64} << 20;

struct Allocation {
  unsigned char* block = nullptr;  // guard, memory, guard
  std::size_t byte_count = 0;
  int device = 0;
  bool registered = false;  // pinned memory that belongs to the host
};
using Allocations = std::map<std::uintptr_t, Allocation>;

struct Memory {
  Allocations device;
  Allocations pinned;
  std::map<int, std::size_t> used;
  // Freed blocks stay for a while, so that who reads them finds no sensible number.
  std::deque<std::pair<unsigned char*, std::size_t>> quarantine;
  std::size_t quarantined = 0;
  bool open = false;
};

Memory& memory() {
  static auto* the_memory = new Memory;
  return *the_memory;
}

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

Allocations::iterator containing(Allocations& allocations, const void* pointer) {
  auto found = allocations.upper_bound(address(pointer));
  if (found == allocations.begin()) return allocations.end();
  --found;
  return address(pointer) < found->first + found->second.byte_count ? found : allocations.end();
}

std::size_t rounded(std::size_t byte_count) {
  return (byte_count + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
}

bool guards_are_whole(const Allocation& allocation) {
  const auto is_guard = [](unsigned char byte) { return byte == kGuard; };
  unsigned char* const begin = allocation.block + kGuardBytes;
  return std::all_of(allocation.block, begin, is_guard) &&
         std::all_of(begin + allocation.byte_count,
                     begin + rounded(allocation.byte_count) + kGuardBytes, is_guard);
}

void release(const Allocation& allocation) {
  std::memset(allocation.block, kPoison, rounded(allocation.byte_count) + 2 * kGuardBytes);
  if (kAddressSanitizer) {  // it has a quarantine of its own
    std::free(allocation.block);
    return;
  }
  Memory& all = memory();
  all.quarantine.emplace_back(allocation.block, allocation.byte_count);
  all.quarantined += allocation.byte_count;
  while (all.quarantined > kQuarantineBytes) {
    std::free(all.quarantine.front().first);
    all.quarantined -= all.quarantine.front().second;
    all.quarantine.pop_front();
  }
}

}  // namespace

Location locate(const void* pointer) {
  Memory& all = memory();
  if (const auto found = containing(all.device, pointer); found != all.device.end()) {
    const Allocation& allocation = found->second;
    return {Place::device, allocation.device, reinterpret_cast<void*>(found->first),
            allocation.byte_count};
  }
  if (const auto found = containing(all.pinned, pointer); found != all.pinned.end()) {
    const Allocation& allocation = found->second;
    return {Place::pinned, allocation.device, reinterpret_cast<void*>(found->first),
            allocation.byte_count};
  }
  return {};
}

bool fits(const void* pointer, std::size_t byte_count) {
  const Location location = locate(pointer);
  if (location.place == Place::pageable) return true;
  return address(pointer) + byte_count <= address(location.base) + location.byte_count;
}

bool is_device_memory(const void* begin, std::size_t byte_count) {
  const Lock lock(state().mutex);
  return locate(begin).place == Place::device && fits(begin, byte_count);
}

cudaError_t allocate_device(void** pointer, std::size_t byte_count, int device) {
  *pointer = nullptr;
  if (byte_count == 0) return cudaSuccess;
  Memory& all = memory();
  const auto limit = static_cast<std::size_t>(state().settings.device_memory);
  if (byte_count > limit || all.used[device] + byte_count > limit) {
    return cudaErrorMemoryAllocation;
  }
  const std::size_t whole = rounded(byte_count) + 2 * kGuardBytes;
  auto* block = static_cast<unsigned char*>(std::aligned_alloc(kGuardBytes, whole));
  if (block == nullptr) return cudaErrorMemoryAllocation;
  std::memset(block, kGuard, whole);
  std::memset(block + kGuardBytes, kPoison, byte_count);
  forbid_access(block, whole);
  if (all.open) allow_access(block + kGuardBytes, byte_count);
  all.device[address(block + kGuardBytes)] = {block, byte_count, device, false};
  all.used[device] += byte_count;
  ++state().counters.allocations;
  *pointer = block + kGuardBytes;
  return cudaSuccess;
}

bool free_device(void* pointer) {
  Memory& all = memory();
  const auto found = all.device.find(address(pointer));
  if (found == all.device.end()) return false;
  const Allocation allocation = found->second;
  all.device.erase(found);
  all.used[allocation.device] -= allocation.byte_count;
  allow_access(allocation.block, rounded(allocation.byte_count) + 2 * kGuardBytes);
  if (!guards_are_whole(allocation)) {
    std::fprintf(stderr, "stand-in: written beside an allocation of %zu bytes at %p\n",
                 allocation.byte_count, pointer);
    ++state().counters.guard_violations;
    poison(cudaErrorIllegalAddress);
  }
  release(allocation);
  return true;
}

void open_device_memory() {
  if (!kAddressSanitizer) return;
  memory().open = true;
  for (auto& [begin, allocation] : memory().device) {
    allow_access(reinterpret_cast<void*>(begin), allocation.byte_count);
  }
}

void close_device_memory() {
  if (!kAddressSanitizer) return;
  memory().open = false;
  for (auto& [begin, allocation] : memory().device) {
    forbid_access(reinterpret_cast<void*>(begin), allocation.byte_count);
  }
}

std::size_t allocated_bytes(int device) { return memory().used[device]; }

std::int64_t allocation_count() { return static_cast<std::int64_t>(memory().device.size()); }

cudaError_t allocate_pinned(void** pointer, std::size_t byte_count) {
  *pointer = nullptr;
  if (byte_count == 0) return cudaSuccess;
  void* block = std::aligned_alloc(kGuardBytes, rounded(byte_count));
  if (block == nullptr) return cudaErrorMemoryAllocation;
  std::memset(block, kPoison, byte_count);
  const int device = this_thread().device;
  memory().pinned[address(block)] = {static_cast<unsigned char*>(block), byte_count, device, false};
  *pointer = block;
  return cudaSuccess;
}

bool free_pinned(void* pointer) {
  const auto found = memory().pinned.find(address(pointer));
  if (found == memory().pinned.end() || found->second.registered) return false;
  std::free(found->second.block);
  memory().pinned.erase(found);
  return true;
}

bool register_pinned(void* pointer, std::size_t byte_count) {
  Allocations& pinned = memory().pinned;
  if (containing(pinned, pointer) != pinned.end()) return false;
  pinned[address(pointer)] = {static_cast<unsigned char*>(pointer), byte_count,
                              this_thread().device, true};
  return true;
}

bool unregister_pinned(void* pointer) {
  const auto found = memory().pinned.find(address(pointer));
  if (found == memory().pinned.end() || !found->second.registered) return false;
  memory().pinned.erase(found);
  return true;
}

std::int64_t pinned_count() { return static_cast<std::int64_t>(memory().pinned.size()); }

}  // namespace emulation
