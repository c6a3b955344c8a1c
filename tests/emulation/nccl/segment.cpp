#include "emulation/nccl/segment.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace emulation::nccl {

std::size_t Ring::put(const void* bytes, std::size_t count) {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  const std::uint64_t used = written - read_.load(std::memory_order_acquire);
  count = std::min<std::size_t>(count, kBytes - used);
  const std::size_t place = written % kBytes;
  const std::size_t first = std::min(count, kBytes - place);
  std::memcpy(bytes_ + place, bytes, first);
  std::memcpy(bytes_, static_cast<const std::byte*>(bytes) + first, count - first);
  written_.store(written + count, std::memory_order_release);
  return count;
}

std::size_t Ring::take(void* bytes, std::size_t count) {
  const std::uint64_t read = read_.load(std::memory_order_relaxed);
  count = std::min<std::size_t>(count, written_.load(std::memory_order_acquire) - read);
  const std::size_t place = read % kBytes;
  const std::size_t first = std::min(count, kBytes - place);
  std::memcpy(bytes, bytes_ + place, first);
  std::memcpy(static_cast<std::byte*>(bytes) + first, bytes_, count - first);
  read_.store(read + count, std::memory_order_release);
  return count;
}

Segment::Segment(const std::string& name, int size, int rank, const std::string& uuid)
    : name_(name),
      size_(size),
      byte_count_(sizeof(Shared) + sizeof(Ring) * static_cast<std::size_t>(size * size)) {
  const auto fail = [](const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
  };
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0) fail("shm_open");
  // All ranks give it the same length, so the order does not matter.
  const bool sized = ftruncate(file, static_cast<off_t>(byte_count_)) == 0;
  void* memory =
      sized ? mmap(nullptr, byte_count_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (memory == MAP_FAILED) fail("mmap");
  shared_ = static_cast<Shared*>(memory);
  std::strncpy(shared_->uuids[rank], uuid.c_str(), kUuidBytes - 1);
  if (++shared_->joined == size) shm_unlink(name.c_str());
}

Segment::~Segment() {
  if (!complete()) shm_unlink(name_.c_str());  // nobody else will
  munmap(shared_, byte_count_);
}

std::pair<int, int> Segment::duplicates() const {
  for (int a = 0; a < size_; ++a)
    for (int b = a + 1; b < size_; ++b)
      if (std::strcmp(shared_->uuids[a], shared_->uuids[b]) == 0) return {a, b};
  return {-1, -1};
}

}  // namespace emulation::nccl
