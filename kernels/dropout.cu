#include "kernels/dropout.hpp"

#include "kernels/launch.cuh"
#include "kernels/pack.cuh"
#include "kernels/random_words.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Dropout {
  RandomPosition position;
  const std::uint64_t* device_offset;
  std::uint64_t threshold;
  T factor;
  const T* x;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    RandomPosition place = position;
    if (device_offset != nullptr) place.offset += *device_offset;
    const Words<kWidth> words = words_at<kWidth>(place, i);
    const Pack<T, kWidth> in = load<kWidth>(x + i);
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      out.values[j] = words.words[j] < threshold ? in.values[j] * factor : T{0};
    store(result + i, out);
  }
};

}  // namespace

cudaError_t dropout(Type type, const RandomPosition& position, const std::uint64_t* device_offset,
                    double probability, const void* x, void* result, std::int64_t count,
                    cudaStream_t stream) {
  if (!(probability >= 0 && probability <= 1)) return cudaErrorInvalidValue;
  const double kept = 1 - probability;
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const Dropout<T> body{position,
                          device_offset,
                          threshold_of(kept),
                          static_cast<T>(1 / kept),
                          static_cast<const T*>(x),
                          static_cast<T*>(result)};
    return launch_for_each<kPackWidth<T>>(body, count, are_aligned(16, x, result), stream);
  });
}

}  // namespace lockstep::kernels
