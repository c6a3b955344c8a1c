// The same operation on the CPU backend and on a CUDA device, from the same bytes.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backend/backend.hpp"

namespace parity {

using namespace lockstep;
using namespace lockstep::backend;

using Bytes = std::vector<unsigned char>;

inline constexpr DType kFloats[] = {DType::float32, DType::float64};
inline constexpr DType kAll[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                                 DType::int64,   DType::int32,   DType::uint8};
/// Around the width of a 16-byte access, of a warp and of a block.
inline constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 129, 1000, 4097};

struct Side {
  const Backend& backend;
  Queue queue;
};

/// False, with a warning, where a build with CUDA runs without a GPU.
inline bool has_device() {
  if (cuda_device_count() > 0) return true;
  WARN("no GPU: nothing was compared");
  return false;
}

/// Memory of one side, with guard bytes around it that must stay as they are.
class Array {
 public:
  /// `shift` bytes behind a 64-byte boundary.
  Array(const Side& side, const Bytes& content, std::int64_t shift = 0)
      : side_(side), size_(static_cast<std::int64_t>(content.size())), before_(64 + shift) {
    Bytes all(static_cast<std::size_t>(before_ + size_ + 64), kGuard);
    std::copy(content.begin(), content.end(), all.begin() + before_);
    block_ = side.backend.memory.allocate(whole(), side.queue);
    side.backend.memory.copy_from_host(block_, all.data(), whole(), side.queue);
  }
  /// Without content.
  Array(const Side& side, std::int64_t byte_count, std::int64_t shift = 0)
      : Array(side, Bytes(static_cast<std::size_t>(byte_count), 0x5a), shift) {}
  ~Array() { side_.backend.memory.release(block_, whole(), side_.queue); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void* data() const { return static_cast<unsigned char*>(block_) + before_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  /// Synchronizes.
  Bytes bytes() const {
    Bytes all(static_cast<std::size_t>(whole()));
    side_.backend.memory.copy_to_host(all.data(), block_, whole(), side_.queue);
    for (std::int64_t i = 0; i < whole(); ++i)
      if (i < before_ || i >= before_ + size_)
        if (all[static_cast<std::size_t>(i)] != kGuard) FAIL("written beyond the array");
    return {all.begin() + before_, all.begin() + before_ + size_};
  }

 private:
  static constexpr unsigned char kGuard = 0xab;
  std::int64_t whole() const { return before_ + size_ + 64; }

  Side side_;
  std::int64_t size_;
  std::int64_t before_;
  void* block_;
};

/// Whether operation(side) returns equal bytes on both.
template <class Operation>
bool same_bits(const Operation& operation) {
  const Bytes expected = operation(Side{cpu_backend(), {}});
  return expected == operation(Side{cuda_backend(0), current_queue(Device::cuda())});
}

inline Bytes bytes_of(const void* data, std::size_t count) {
  const auto* first = static_cast<const unsigned char*>(data);
  return {first, first + count};
}
template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  return bytes_of(values.data(), values.size() * sizeof(T));
}

inline Bytes converted(const std::vector<double>& values, DType dtype) {
  const auto count = static_cast<std::int64_t>(values.size());
  Bytes result(static_cast<std::size_t>(count * byte_size(dtype)));
  cpu_backend().elementwise.cast(DType::float64, values.data(), dtype, result.data(), count, {});
  return result;
}

/// Random finite elements.
inline Bytes elements(DType dtype, std::int64_t count, unsigned seed, double low = -100,
                      double high = 100) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = distribution(engine);
  return converted(values, dtype);
}

/// Whether operation(side), bytes of a float dtype, agrees but for the order of float64 sums. The
/// allowed difference is relative to 1 + |value|.
template <class Operation>
bool close(DType dtype, const Operation& operation) {
  const double allowed = dtype == DType::float32 ? 1e-6 : 1e-12;
  const auto numbers = [&](const Side& side) {
    const Bytes bytes = operation(side);
    std::vector<double> result(bytes.size() / static_cast<std::size_t>(byte_size(dtype)));
    cpu_backend().elementwise.cast(dtype, bytes.data(), DType::float64, result.data(),
                                   static_cast<std::int64_t>(result.size()), {});
    return result;
  };
  const auto expected = numbers(Side{cpu_backend(), {}});
  const auto found = numbers(Side{cuda_backend(0), current_queue(Device::cuda())});
  bool same = expected.size() == found.size();
  for (std::size_t i = 0; same && i < found.size(); ++i)
    same = (std::isnan(found[i]) && std::isnan(expected[i])) ||
           std::abs(found[i] - expected[i]) <= allowed * (1 + std::abs(expected[i]));
  return same;
}

}  // namespace parity
