// Device memory and pinned memory, both on the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulation/src/state.hpp"

namespace emulation {

enum class Place { pageable, pinned, device };

struct Location {
  Place place = Place::pageable;
  int device = 0;
  void* base = nullptr;        // of the allocation
  std::size_t byte_count = 0;  // of the allocation
};

// The caller holds state().mutex for all of these.
Location locate(const void* pointer);
// Whether so many bytes from there lie in the allocation that the pointer is in, if it is in one.
bool fits(const void* pointer, std::size_t byte_count);

// Filled with bytes of all ones (a quiet or signalling NaN in every floating-point type), between
// two guard zones.
cudaError_t allocate_device(void** pointer, std::size_t byte_count, int device);
// False if it is no allocation. Looks at the guard zones; a write there poisons the context.
bool free_device(void* pointer);
// Under the address sanitizer the host may touch device memory only between these two.
void open_device_memory();
void close_device_memory();
std::size_t allocated_bytes(int device);
std::int64_t allocation_count();

cudaError_t allocate_pinned(void** pointer, std::size_t byte_count);
bool free_pinned(void* pointer);
bool register_pinned(void* pointer, std::size_t byte_count);
bool unregister_pinned(void* pointer);
std::int64_t pinned_count();

}  // namespace emulation
