// Marks cached memory as out of bounds for AddressSanitizer; nothing otherwise.
#pragma once

#include <cstdint>

#include "core/address_sanitizer.hpp"

#ifdef LOCKSTEP_HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace lockstep::inline v0::backend::cpu {

inline void poison([[maybe_unused]] void* pointer, [[maybe_unused]] std::int64_t byte_count) {
#ifdef LOCKSTEP_HAS_ASAN
  __asan_poison_memory_region(pointer, static_cast<std::size_t>(byte_count));
#endif
}

inline void unpoison([[maybe_unused]] void* pointer, [[maybe_unused]] std::int64_t byte_count) {
#ifdef LOCKSTEP_HAS_ASAN
  __asan_unpoison_memory_region(pointer, static_cast<std::size_t>(byte_count));
#endif
}

}  // namespace lockstep::inline v0::backend::cpu
