// Memory that the ranks of a communicator share: who is there, and a ring of bytes from each rank
// to each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace emulation::nccl {

inline constexpr int kMostRanks = 16;
inline constexpr std::size_t kUuidBytes = 64;

/// Bytes on their way from one rank to another. Lives in shared memory that begins as zeros.
class Ring {
 public:
  static constexpr std::size_t kBytes = 16384;

  /// As many bytes as fit, or as there are; returns how many.
  std::size_t put(const void* bytes, std::size_t count);
  std::size_t take(void* bytes, std::size_t count);

 private:
  std::atomic<std::uint64_t> written_;
  std::atomic<std::uint64_t> read_;
  std::byte bytes_[kBytes];
};

struct Shared {
  std::atomic<std::int32_t> joined;
  std::atomic<std::int32_t> finalized;
  char uuids[kMostRanks][kUuidBytes];
  Ring rings[1];  // size * size of them: from * size + to
};

/// A process's view of it.
class Segment {
 public:
  /// Whoever comes first makes it; the last one takes its name away. @throws std::system_error
  Segment(const std::string& name, int size, int rank, const std::string& uuid);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  bool complete() const { return shared_->joined == size_; }
  void finalize() { ++shared_->finalized; }
  bool all_finalized() const { return shared_->finalized == size_; }
  Ring& ring(int from, int to) { return shared_->rings[from * size_ + to]; }
  /// Once complete: two ranks on one device, -1 and -1 if there are none.
  std::pair<int, int> duplicates() const;

 private:
  std::string name_;
  int size_;
  std::size_t byte_count_;
  Shared* shared_;
};

}  // namespace emulation::nccl
