#include "allocation_count.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own functions behind the names that are replaced here.
extern "C" {
void* __libc_malloc(std::size_t byte_count);
void* __libc_calloc(std::size_t count, std::size_t byte_count);
void* __libc_realloc(void* pointer, std::size_t byte_count);
void* __libc_memalign(std::size_t alignment, std::size_t byte_count);
}

namespace bench {

namespace {

std::atomic<std::int64_t> count{0};

void note() noexcept { count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::int64_t allocation_count() noexcept { return count.load(std::memory_order_relaxed); }

}  // namespace bench

extern "C" {

void* malloc(std::size_t byte_count) noexcept {
  bench::note();
  return __libc_malloc(byte_count);
}

void* calloc(std::size_t count, std::size_t byte_count) noexcept {
  bench::note();
  return __libc_calloc(count, byte_count);
}

void* realloc(void* pointer, std::size_t byte_count) noexcept {
  bench::note();
  return __libc_realloc(pointer, byte_count);
}

void* aligned_alloc(std::size_t alignment, std::size_t byte_count) noexcept {
  bench::note();
  return __libc_memalign(alignment, byte_count);
}

void* memalign(std::size_t alignment, std::size_t byte_count) noexcept {
  bench::note();
  return __libc_memalign(alignment, byte_count);
}

int posix_memalign(void** pointer, std::size_t alignment, std::size_t byte_count) noexcept {
  bench::note();
  void* block = __libc_memalign(alignment, byte_count);
  if (block == nullptr) return ENOMEM;
  *pointer = block;
  return 0;
}
}
