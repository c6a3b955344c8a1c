#include "kernels/random.hpp"

#include <cmath>
#include <limits>

#include "core/portable_math.hpp"
#include "kernels/launch.cuh"
#include "kernels/pack.cuh"
#include "kernels/random_words.cuh"

namespace lockstep::kernels {
namespace {

/// (64-bit word >> 11) * 2^-53.
__device__ __forceinline__ double unit(std::uint32_t low, std::uint32_t high) {
  return static_cast<double>(high) * 0x1p-32 + static_cast<double>(low >> 11) * 0x1p-53;
}

/// Uniforms in [0, 1) of elements [i, i + kWidth).
template <int kWidth>
__device__ __forceinline__ void units_at(const RandomPosition& position, std::int64_t i,
                                         float (&result)[kWidth]) {
  const Words<kWidth> words = words_at<kWidth>(position, i);
#pragma unroll
  for (int j = 0; j < kWidth; ++j)
    result[j] = static_cast<float>(static_cast<std::int32_t>(words.words[j] >> 8)) * 0x1p-24F;
}
template <int kWidth>
__device__ __forceinline__ void units_at(const RandomPosition& position, std::int64_t i,
                                         double (&result)[kWidth]) {
  const PhiloxBlock block = block_at(position, i / 2);
  const double first = unit(block.words[0], block.words[1]);
  const double second = unit(block.words[2], block.words[3]);
  if constexpr (kWidth == 2) {
    result[0] = first;
    result[1] = second;
  } else {
    result[0] = (i & 1) != 0 ? second : first;
  }
}

template <class T>
struct Uniform {
  RandomPosition position;
  T low;
  T width;
  T largest;  // what a result that rounds up to `high` becomes
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    T units[kWidth];
    units_at(position, i, units);
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const T scaled = low + width * units[j];
      out.values[j] = scaled > largest ? largest : scaled;
    }
    store(result + i, out);
  }
};

struct Pair {
  double first;
  double second;
};

__device__ __forceinline__ Pair normals_at(const RandomPosition& position, std::int64_t pair) {
  const PhiloxBlock block = block_at(position, pair);
  // 1 - u lies in (0, 1], where the logarithm is finite.
  const double u = 1.0 - unit(block.words[0], block.words[1]);
  const double radius = sqrt(-2.0 * portable::log(u));
  const portable::SineCosine angle =
      portable::sine_cosine_of_turns(unit(block.words[2], block.words[3]));
  return {radius * angle.cosine, radius * angle.sine};
}

template <class T>
struct Normal {
  RandomPosition position;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    Pack<T, kWidth> out;
    if constexpr (kWidth == 1) {
      const Pair pair = normals_at(position, i / 2);
      out.values[0] = static_cast<T>((i & 1) != 0 ? pair.second : pair.first);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; j += 2) {
        const Pair pair = normals_at(position, (i + j) / 2);
        out.values[j] = static_cast<T>(pair.first);
        out.values[j + 1] = static_cast<T>(pair.second);
      }
    }
    store(result + i, out);
  }
};

template <class T>
struct Bernoulli {
  RandomPosition position;
  std::uint64_t threshold;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    const Words<kWidth> words = words_at<kWidth>(position, i);
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) out.values[j] = words.words[j] < threshold ? T{1} : T{0};
    store(result + i, out);
  }
};

}  // namespace

cudaError_t uniform(Type type, const RandomPosition& position, double low, double high,
                    void* result, std::int64_t count, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const T first = static_cast<T>(low);
    const T below_end = std::nextafter(static_cast<T>(high), -std::numeric_limits<T>::infinity());
    const Uniform<T> body{position, first, static_cast<T>(high - low),
                          first > below_end ? first : below_end, static_cast<T*>(result)};
    return launch_for_each<kPackWidth<T>>(body, count, are_aligned(16, result), stream);
  });
}

cudaError_t normal(Type type, const RandomPosition& position, void* result, std::int64_t count,
                   cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return launch_for_each<kPackWidth<T>>(Normal<T>{position, static_cast<T*>(result)}, count,
                                          are_aligned(16, result), stream);
  });
}

cudaError_t bernoulli(Type type, const RandomPosition& position, double probability, void* result,
                      std::int64_t count, cudaStream_t stream) {
  if (!(probability >= 0 && probability <= 1)) return cudaErrorInvalidValue;
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Bernoulli<T> body{position, threshold_of(probability), static_cast<T*>(result)};
    return launch_for_each<kPackWidth<T>>(body, count, are_aligned(16, result), stream);
  });
}

}  // namespace lockstep::kernels
