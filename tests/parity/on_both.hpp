// Runs the families of a backend on the CPU and on CUDA, from the same numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "parity/compare.hpp"

namespace parity {

using namespace lockstep;
using namespace lockstep::backend;

template <class T>
inline constexpr DType kDType = dtype_of<T>;

template <class T>
class Array;

/// One of the two backends.
struct Side {
  const Backend& backend;
  Queue queue;

  /// Device memory that holds these values; from an address that is a multiple of 64 bytes, or
  /// one element behind that.
  template <class T>
  Array<T> array(const std::vector<T>& values, bool odd = false) const {
    return Array<T>(*this, values, odd);
  }
};

template <class T>
class Array {
 public:
  Array(const Side& side, const std::vector<T>& values, bool odd)
      : side_(side), count_(values.size()), front_(kBeside + (odd ? sizeof(T) : 0)) {
    std::vector<std::byte> bytes(byte_count(), kMark);
    if (count_ > 0) std::memcpy(bytes.data() + front_, values.data(), count_ * sizeof(T));
    memory_ = static_cast<std::byte*>(side_.backend.memory.allocate(all_bytes(), side_.queue));
    side_.backend.memory.copy_from_host(memory_, bytes.data(), all_bytes(), side_.queue);
  }
  ~Array() { side_.backend.memory.release(memory_, all_bytes(), side_.queue); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return reinterpret_cast<T*>(memory_ + front_); }

  /// @throws std::logic_error if something was written beside the values.
  std::vector<T> values() const {
    std::vector<std::byte> bytes(byte_count());
    side_.backend.memory.copy_to_host(bytes.data(), memory_, all_bytes(), side_.queue);
    const auto marked = [](std::byte byte) { return byte == kMark; };
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(front_);
    const auto end = begin + static_cast<std::ptrdiff_t>(count_ * sizeof(T));
    if (!std::all_of(bytes.begin(), begin, marked) || !std::all_of(end, bytes.end(), marked))
      throw std::logic_error("a kernel wrote beside its result");
    std::vector<T> values(count_);
    if (count_ > 0) std::memcpy(values.data(), bytes.data() + front_, count_ * sizeof(T));
    return values;
  }

 private:
  static constexpr std::size_t kBeside = 64;  // bytes before and behind the values
  static constexpr std::byte kMark{0xa5};
  std::size_t byte_count() const { return front_ + count_ * sizeof(T) + kBeside; }
  std::int64_t all_bytes() const { return static_cast<std::int64_t>(byte_count()); }

  const Side& side_;
  std::size_t count_;
  std::size_t front_;
  std::byte* memory_ = nullptr;
};

/// What body(side) returns on the CPU, and on CUDA.
template <class Body>
auto on_both(const Body& body) {
  const Side cpu{cpu_backend(), {}};
  const Side cuda{cuda_backend(0), cuda_current_queue(0)};
  auto expected = body(cpu);
  return std::pair(std::move(expected), body(cuda));
}

/// Calls body with a value of the C++ type that stores the dtype; 16-bit floats are their bits.
template <class Body>
void with_storage(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float32:
      return body(float{});
    case DType::float64:
      return body(double{});
    case DType::bfloat16:
    case DType::float16:
      return body(std::uint16_t{});
    case DType::int64:
      return body(std::int64_t{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::uint8:
      return body(std::uint8_t{});
  }
}

inline constexpr DType kAllDTypes[] = {DType::float32, DType::float64, DType::bfloat16,
                                       DType::float16, DType::int64,   DType::int32,
                                       DType::uint8};

/// Around the widths of packs, warps and blocks, odd ones and primes.
inline constexpr std::int64_t kCounts[] = {0, 1, 2, 3, 5, 31, 64, 257, 1025, 4099};
/// More than a full grid of the elementwise kernels has in packs of 16 bytes of float32.
inline constexpr std::int64_t kBeyondGrid = std::int64_t{4096} * 256 * 4 + 1031;

}  // namespace parity
