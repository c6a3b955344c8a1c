// Memory for the small objects of tensors and of the tape, which come and go with every operation:
// a thread keeps what it releases, and takes from that without a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/address_sanitizer.hpp"

namespace lockstep::inline v0::detail {

/// Under AddressSanitizer nothing is kept, so that it sees what is used after its release.
#ifdef LOCKSTEP_HAS_ASAN
inline constexpr bool kPoolKeeps = false;
#else
inline constexpr bool kPoolKeeps = true;
#endif

/// Any thread may release what another one has allocated, with the same byte_count > 0.
void* pool_allocate(std::size_t byte_count);
void pool_release(void* pointer, std::size_t byte_count) noexcept;

template <class T>
struct PoolAllocator {
  static_assert(alignof(T) <= alignof(std::max_align_t));
  using value_type = T;

  PoolAllocator() = default;
  template <class U>
  explicit(false) PoolAllocator(const PoolAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) { return static_cast<T*>(pool_allocate(count * sizeof(T))); }
  void deallocate(T* pointer, std::size_t count) noexcept {
    pool_release(pointer, count * sizeof(T));
  }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) noexcept { return true; }
};

template <class T>
using PoolVector = std::vector<T, PoolAllocator<T>>;

template <class T, class... Arguments>
std::shared_ptr<T> make_pooled(Arguments&&... arguments) {
  return std::allocate_shared<T>(PoolAllocator<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace lockstep::inline v0::detail
