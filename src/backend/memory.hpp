// Backend family: memory of one device.
#pragma once

#include <array>
#include <cstdint>

#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

struct MemoryCounters {
  std::int64_t bytes_in_use = 0;     // handed out
  std::int64_t bytes_cached = 0;     // kept for the next allocation
  std::int64_t system_requests = 0;  // times that memory was taken from the system
};

/// Two arrays of the same sizes, the outermost axis first. Strides are in elements; 0 repeats the
/// source. The caller has merged axes where it could. No axis: one element.
struct StridedCopy {
  static constexpr int kMaxAxes = 8;
  int axes = 0;
  std::array<std::int64_t, kMaxAxes> sizes{};
  std::array<std::int64_t, kMaxAxes> source_strides{};
  std::array<std::int64_t, kMaxAxes> destination_strides{};
};

/// Thread-safe.
class Memory {
 public:
  virtual ~Memory() = default;
  /// 64-byte aligned; null for 0 bytes. Freed blocks are kept and handed out again. @throws
  /// DeviceError
  virtual void* allocate(std::int64_t byte_count, Queue queue) = 0;
  virtual void release(void* pointer, std::int64_t byte_count, Queue queue) noexcept = 0;
  /// Gives cached blocks back to the system.
  virtual void trim() noexcept = 0;
  virtual MemoryCounters counters() const noexcept = 0;
  /// Within the device.
  virtual void copy(void* destination, const void* source, std::int64_t byte_count,
                    Queue queue) = 0;
  /// Within the device, elements of 1, 2, 4 or 8 bytes. The arrays must not overlap.
  virtual void copy_strided(void* destination, const void* source, std::int64_t element_bytes,
                            const StridedCopy& axes, Queue queue) = 0;
  virtual void copy_from_host(void* destination, const void* source, std::int64_t byte_count,
                              Queue queue) = 0;
  /// Synchronizes.
  virtual void copy_to_host(void* destination, const void* source, std::int64_t byte_count,
                            Queue queue) = 0;
  virtual void set_zero(void* destination, std::int64_t byte_count, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
