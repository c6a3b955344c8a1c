// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC11). Element i of a draw depends on seed, stream and offset alone, so any device and
// any number of threads give the same words, uniforms, permutations and masks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

/// One block of the generator: 4 words from a 128-bit counter and a 64-bit key.
LOCKSTEP_API std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                                 std::uint64_t counter_high) noexcept;

/// A position in one stream of random numbers. Copies continue from the same position.
class LOCKSTEP_API Generator {
 public:
  explicit Generator(std::uint64_t seed = 0, std::uint64_t stream = 0) noexcept
      : seed_(seed), stream_(stream) {}

  std::uint64_t seed() const noexcept { return seed_; }
  std::uint64_t stream() const noexcept { return stream_; }
  /// The next block to be used (a block is 4 words).
  std::uint64_t offset() const noexcept { return offset_; }
  void set_offset(std::uint64_t offset) noexcept { offset_ = offset; }
  /// Reserves the blocks for `count` words and returns the first of them.
  std::uint64_t reserve(std::int64_t count) noexcept;

  /// A uniform integer in [0, bound), unbiased. `bound` must be positive.
  std::uint64_t below(std::uint64_t bound) noexcept;
  /// A uniformly random order of 0 .. count-1 (Fisher-Yates).
  std::vector<std::int64_t> permutation(std::int64_t count);

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t offset_ = 0;
};

/// The process-wide generator that layers initialize from; Environment::seed sets it. Not for
/// concurrent use.
LOCKSTEP_API Generator& default_generator() noexcept;

/// Uniform in [low, high).
LOCKSTEP_API Tensor uniform(const Shape& shape, double low, double high, DType dtype,
                            Generator& generator, Device device = {});
/// Normal with mean 0 and standard deviation 1 (Box-Muller).
LOCKSTEP_API Tensor normal(const Shape& shape, DType dtype, Generator& generator,
                           Device device = {});
/// A mask: 1 with the given probability, else 0; the same in every dtype. @throws InvalidUsage
/// outside [0, 1]
LOCKSTEP_API Tensor bernoulli(const Shape& shape, double probability, DType dtype,
                              Generator& generator, Device device = {});
/// Each element is 0 with the given probability, else divided by 1 - probability; differentiable.
/// The mask is the one that bernoulli(shape, 1 - probability) would draw. An infinity or NaN that
/// is left out becomes 0 too. float32 and float64. @throws InvalidUsage outside [0, 1]
LOCKSTEP_API Tensor dropout(const Tensor& x, double probability, Generator& generator);
/// From the default generator.
LOCKSTEP_API Tensor dropout(const Tensor& x, double probability = 0.5);
/// Normal, float32, from the default generator.
LOCKSTEP_API Tensor randn(const Shape& shape, DType dtype = DType::float32, Device device = {});

}  // namespace lockstep::inline v0
