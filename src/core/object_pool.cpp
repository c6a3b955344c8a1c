#include "core/object_pool.hpp"

#include <array>
#include <cstdint>
#include <new>

#include "backend/size_class.hpp"

namespace lockstep::inline v0::detail {

namespace {

using backend::size_class;
using backend::SizeClass;

constexpr std::int64_t kLargest = 1024 * 1024;        // bytes of a block that is kept
constexpr std::int64_t kMostKept = 16 * 1024 * 1024;  // bytes that one thread keeps

// Objects of static storage duration are released after the pool of their thread is gone.
thread_local bool pool_is_gone = false;

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    pool_is_gone = true;
    for (Block* block : kept_)
      while (block != nullptr) ::operator delete(std::exchange(block, block->next));
  }

  /// Null if nothing of this size is kept.
  void* take(const SizeClass& size) noexcept {
    Block* block = kept_[size.index];
    if (block == nullptr) return nullptr;
    kept_[size.index] = block->next;
    kept_bytes_ -= size.byte_count;
    return block;
  }

  /// False if the thread keeps enough.
  bool keep(void* pointer, const SizeClass& size) noexcept {
    if (kept_bytes_ + size.byte_count > kMostKept) return false;
    kept_[size.index] = new (pointer) Block{kept_[size.index]};
    kept_bytes_ += size.byte_count;
    return true;
  }

 private:
  struct Block {
    Block* next;
  };

  std::array<Block*, size_class(kLargest).index + 1> kept_{};
  std::int64_t kept_bytes_ = 0;
};

thread_local Pool pool;

bool kept_by_size(const SizeClass& size) noexcept {
  return kPoolKeeps && size.byte_count <= kLargest && !pool_is_gone;
}

}  // namespace

void* pool_allocate(std::size_t byte_count) {
  const SizeClass size = size_class(static_cast<std::int64_t>(byte_count));
  void* block = kept_by_size(size) ? pool.take(size) : nullptr;
  return block != nullptr ? block : ::operator new(static_cast<std::size_t>(size.byte_count));
}

void pool_release(void* pointer, std::size_t byte_count) noexcept {
  const SizeClass size = size_class(static_cast<std::int64_t>(byte_count));
  if (!kept_by_size(size) || !pool.keep(pointer, size)) ::operator delete(pointer);
}

}  // namespace lockstep::inline v0::detail
