#include "backend/cpu/cpu_random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/thread_pool.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

/// Pieces of for_ranges begin at multiples of 4096 elements, so at whole blocks.
RandomPlace place_of(const RandomPosition& position, std::int64_t begin,
                     std::int64_t elements_per_block) {
  return {position.seed, position.stream,
          position.offset + static_cast<std::uint64_t>(begin / elements_per_block)};
}

/// A word is below this with the given probability.
std::uint64_t threshold_of(double probability) {
  return static_cast<std::uint64_t>(std::ceil(probability * 0x1p32));
}

/// low + width * u may round up to `high`, which is not part of the range.
template <class T>
UniformRange<T> range_of(double low, double high) {
  const T first = static_cast<T>(low);
  const T end = static_cast<T>(high);
  const T largest = std::nextafter(end, -std::numeric_limits<T>::infinity());
  return {first, static_cast<T>(high - low), std::max(first, largest)};
}

}  // namespace

void CpuRandom::uniform(DType dtype, const RandomPosition& position, double low, double high,
                        void* result, std::int64_t count, Queue) {
  with_float_type("uniform", dtype, [&]<class T>(Type<T>) {
    const auto range = range_of<T>(low, high);
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().random->uniform(place_of(position, begin, 16 / std::int64_t{sizeof(T)}),
                                       range, static_cast<T*>(result) + begin, end - begin);
    });
  });
}

void CpuRandom::normal(DType dtype, const RandomPosition& position, void* result,
                       std::int64_t count, Queue) {
  with_float_type("normal", dtype, [&]<class T>(Type<T>) {
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().random->normal(place_of(position, begin, 2), static_cast<T*>(result) + begin,
                                      end - begin);
    });
  });
}

void CpuRandom::bernoulli(DType dtype, const RandomPosition& position, double probability,
                          void* result, std::int64_t count, Queue) {
  const std::uint64_t threshold = threshold_of(probability);
  with_float_type("bernoulli", dtype, [&]<class T>(Type<T>) {
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().random->bernoulli(place_of(position, begin, 4), threshold,
                                         static_cast<T*>(result) + begin, end - begin);
    });
  });
}

void CpuRandom::dropout(DType dtype, const RandomPosition& position, double probability,
                        const void* x, void* result, std::int64_t count, Queue) {
  const double kept = 1 - probability;
  with_float_type("dropout", dtype, [&]<class T>(Type<T>) {
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().random->dropout(place_of(position, begin, 4), threshold_of(kept),
                                       static_cast<T>(1 / kept), static_cast<const T*>(x) + begin,
                                       static_cast<T*>(result) + begin, end - begin);
    });
  });
}

}  // namespace lockstep::inline v0::backend::cpu
