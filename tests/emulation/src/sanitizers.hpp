// What the address sanitizer is told, where there is one.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define EMULATED_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATED_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define EMULATED_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EMULATED_TSAN 1
#endif
#endif

#ifdef EMULATED_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMULATED_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace emulation {

#ifdef EMULATED_ASAN
inline constexpr bool kAddressSanitizer = true;
inline void forbid_access(void* begin, std::size_t byte_count) {
  __asan_poison_memory_region(begin, byte_count);
}
inline void allow_access(void* begin, std::size_t byte_count) {
  __asan_unpoison_memory_region(begin, byte_count);
}
#else
inline constexpr bool kAddressSanitizer = false;
inline void forbid_access(void*, std::size_t) {}
inline void allow_access(void*, std::size_t) {}
#endif

}  // namespace emulation
