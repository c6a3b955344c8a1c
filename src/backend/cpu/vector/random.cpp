// Random fills from Philox blocks; batches of blocks, so that the rounds are vectorized.
#include "backend/cpu/vector/tables.hpp"
#include "core/philox.hpp"
#include "core/portable_math.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

constexpr std::int64_t kBatch = 32;  // blocks

struct Batch {
  std::uint32_t words[4][kBatch];  // [word][block]
};

[[gnu::always_inline]] inline void fill_batch(const RandomPlace& place, std::int64_t first,
                                              Batch& batch) {
  const std::uint64_t seed = place.seed;
  const std::uint64_t stream = place.stream;
  const std::uint64_t block = place.block + static_cast<std::uint64_t>(first);
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < kBatch; ++i) {
    const PhiloxBlock words = philox_block(seed, block + static_cast<std::uint64_t>(i), stream);
    batch.words[0][i] = words.words[0];
    batch.words[1][i] = words.words[1];
    batch.words[2][i] = words.words[2];
    batch.words[3][i] = words.words[3];
  }
}

/// An unsigned number below 2^32 as a double: integer instructions alone, which every instruction
/// set has in vector form.
[[gnu::always_inline]] inline double exact(std::uint32_t word) {
  return __builtin_bit_cast(double, 0x4330000000000000U | std::uint64_t{word}) - 0x1p52;
}

/// (64-bit word >> 11) * 2^-53.
[[gnu::always_inline]] inline double unit(std::uint32_t low, std::uint32_t high) {
  return exact(high) * 0x1p-32 + exact(low >> 11) * 0x1p-53;
}

/// Elements of one batch: uniforms in [0, 1).
[[gnu::always_inline]] inline void units(const Batch& batch, float* result) {
  for (std::int64_t i = 0; i < kBatch; ++i)
    for (int word = 0; word < 4; ++word)
      result[4 * i + word] =
          static_cast<float>(static_cast<std::int32_t>(batch.words[word][i] >> 8)) * 0x1p-24F;
}
[[gnu::always_inline]] inline void units(const Batch& batch, double* result) {
  for (std::int64_t i = 0; i < kBatch; ++i) {
    result[2 * i] = unit(batch.words[0][i], batch.words[1][i]);
    result[2 * i + 1] = unit(batch.words[2][i], batch.words[3][i]);
  }
}

template <class T>
[[gnu::always_inline]] inline void normals(const Batch& batch, T* result) {
  for (std::int64_t i = 0; i < kBatch; ++i) {
    // 1 - u lies in (0, 1], where the logarithm is finite.
    const double u = 1.0 - unit(batch.words[0][i], batch.words[1][i]);
    const double radius = __builtin_sqrt(-2.0 * portable::log(u));
    const portable::SineCosine angle =
        portable::sine_cosine_of_turns(unit(batch.words[2][i], batch.words[3][i]));
    result[2 * i] = static_cast<T>(radius * angle.cosine);
    result[2 * i + 1] = static_cast<T>(radius * angle.sine);
  }
}

template <class T>
void uniform(const RandomPlace& place, const UniformRange<T>& range, T* result,
             std::int64_t count) {
  constexpr std::int64_t kPerBlock = 16 / static_cast<std::int64_t>(sizeof(T));
  const UniformRange<T> in = range;
  for (std::int64_t begin = 0; begin < count; begin += kBatch * kPerBlock) {
    Batch batch;
    T values[kBatch * kPerBlock];
    fill_batch(place, begin / kPerBlock, batch);
    units(batch, values);
    for (T& value : values) {
      const T scaled = in.low + in.width * value;
      value = scaled > in.largest ? in.largest : scaled;
    }
    const std::int64_t left =
        count - begin < kBatch * kPerBlock ? count - begin : kBatch * kPerBlock;
    for (std::int64_t i = 0; i < left; ++i) result[begin + i] = values[i];
  }
}

template <class T>
void normal(const RandomPlace& place, T* result, std::int64_t count) {
  for (std::int64_t begin = 0; begin < count; begin += 2 * kBatch) {
    Batch batch;
    T values[2 * kBatch];
    fill_batch(place, begin / 2, batch);
    normals(batch, values);
    const std::int64_t left = count - begin < 2 * kBatch ? count - begin : 2 * kBatch;
    for (std::int64_t i = 0; i < left; ++i) result[begin + i] = values[i];
  }
}

/// 1 for each word below the threshold, else 0.
template <class T>
[[gnu::always_inline]] inline void mask_of(const Batch& batch, std::uint64_t threshold, T* mask) {
  for (std::int64_t i = 0; i < kBatch; ++i)
    for (int word = 0; word < 4; ++word)
      mask[4 * i + word] = batch.words[word][i] < threshold ? T{1} : T{0};
}

template <class T>
void bernoulli(const RandomPlace& place, std::uint64_t threshold, T* result, std::int64_t count) {
  for (std::int64_t begin = 0; begin < count; begin += 4 * kBatch) {
    Batch batch;
    T values[4 * kBatch];
    fill_batch(place, begin / 4, batch);
    mask_of(batch, threshold, values);
    const std::int64_t left = count - begin < 4 * kBatch ? count - begin : 4 * kBatch;
    for (std::int64_t i = 0; i < left; ++i) result[begin + i] = values[i];
  }
}

template <class T>
void dropout(const RandomPlace& place, std::uint64_t threshold, T factor, const T* x, T* result,
             std::int64_t count) {
  for (std::int64_t begin = 0; begin < count; begin += 4 * kBatch) {
    Batch batch;
    T mask[4 * kBatch];
    fill_batch(place, begin / 4, batch);
    mask_of(batch, threshold, mask);
    const std::int64_t left = count - begin < 4 * kBatch ? count - begin : 4 * kBatch;
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < left; ++i) {
      const T kept = x[begin + i] * factor;
      result[begin + i] = mask[i] != 0 ? kept : T{0};
    }
  }
}

}  // namespace

const RandomKernels<float> kRandom32 = {uniform<float>, normal<float>, bernoulli<float>,
                                        dropout<float>};
const RandomKernels<double> kRandom64 = {uniform<double>, normal<double>, bernoulli<double>,
                                         dropout<double>};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
