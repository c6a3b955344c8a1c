#include <lockstep/core/random.hpp>

#include <numeric>
#include <string>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"
#include "core/philox.hpp"

namespace lockstep::inline v0 {
namespace {

constexpr std::int64_t kWordsPerBlock = 4;

/// The position of a draw that takes `words` words, reserved.
backend::RandomPosition reserved_position(Generator& generator, std::int64_t words) {
  backend::RandomPosition position{.seed = generator.seed(), .stream = generator.stream()};
  position.offset = generator.reserve(words);
  return position;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high) noexcept {
  const PhiloxBlock block = philox_block(key, counter_low, counter_high);
  return {block.words[0], block.words[1], block.words[2], block.words[3]};
}

std::uint64_t Generator::reserve(std::int64_t count) noexcept {
  const std::uint64_t first = offset_;
  const std::int64_t blocks = count / kWordsPerBlock + (count % kWordsPerBlock != 0 ? 1 : 0);
  offset_ += static_cast<std::uint64_t>(blocks);
  return first;
}

// Lemire, "Fast random integer generation in an interval" (2019): the high half of a 128-bit
// product; the few products that would favour some values are drawn again.
std::uint64_t Generator::below(std::uint64_t bound) noexcept {
  const std::uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound
  for (;;) {
    const PhiloxBlock block = philox_block(seed_, offset_++, stream_);
    const std::uint64_t word = block.words[0] | std::uint64_t{block.words[1]} << 32;
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(word) * bound;
    if (static_cast<std::uint64_t>(product) >= unfair)
      return static_cast<std::uint64_t>(product >> 64);
  }
}

std::vector<std::int64_t> Generator::permutation(std::int64_t count) {
  if (count < 0)
    throw InvalidUsage("permutation of " + std::to_string(count) + " elements is impossible");
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[below(left)]);
  return order;
}

Generator& default_generator() noexcept {
  static Generator generator;
  return generator;
}

Tensor uniform(const Shape& shape, double low, double high, DType dtype, Generator& generator,
               Device device) {
  Tensor result = empty(shape, dtype, device);
  const std::int64_t count = shape.element_count();
  const std::int64_t words = dtype == DType::float64 ? 2 * count : count;
  backend::backend_for(device).random.uniform(dtype, reserved_position(generator, words), low, high,
                                              result.mutable_raw_data(), count,
                                              backend::current_queue(device));
  return result;
}

Tensor normal(const Shape& shape, DType dtype, Generator& generator, Device device) {
  Tensor result = empty(shape, dtype, device);
  const std::int64_t count = shape.element_count();
  backend::backend_for(device).random.normal(dtype, reserved_position(generator, 2 * count),
                                             result.mutable_raw_data(), count,
                                             backend::current_queue(device));
  return result;
}

Tensor bernoulli(const Shape& shape, double probability, DType dtype, Generator& generator,
                 Device device) {
  if (!(probability >= 0 && probability <= 1))
    throw InvalidUsage("bernoulli: " + std::to_string(probability) + " is no probability");
  Tensor result = empty(shape, dtype, device);
  const std::int64_t count = shape.element_count();
  backend::backend_for(device).random.bernoulli(dtype, reserved_position(generator, count),
                                                probability, result.mutable_raw_data(), count,
                                                backend::current_queue(device));
  return result;
}

Tensor randn(const Shape& shape, DType dtype, Device device) {
  return normal(shape, dtype, default_generator(), device);
}

}  // namespace lockstep::inline v0
