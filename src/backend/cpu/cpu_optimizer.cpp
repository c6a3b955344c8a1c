#include "backend/cpu/cpu_optimizer.hpp"

#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/thread_pool.hpp"
#include "backend/cpu/variant.hpp"
#include "backend/optimizer_coefficients.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

template <class T>
T* at(void* arena, std::int64_t index) {
  return arena == nullptr ? nullptr : static_cast<T*>(arena) + index;
}

}  // namespace

void CpuOptimizer::adam(DType dtype, const ArenaPointers& arena,
                        std::span<const AdamSegment> segments, Queue,
                        const NextSegments<AdamSegment>&) {
  with_float_type("adam", dtype, [&]<class T>(Type<T>) {
    for (const AdamSegment& segment : segments) {
      const auto with = coefficients<T>(segment, arena.gradient_scale);
      for_ranges(segment.end - segment.begin, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = segment.begin + begin;
        kernels_for<T>().optimizer->adam(
            with, at<T>(arena.values, first), static_cast<const T*>(arena.gradients) + first,
            at<T>(arena.first_moment, first), at<T>(arena.second_moment, first), end - begin);
      });
    }
  });
}

void CpuOptimizer::sgd(DType dtype, const ArenaPointers& arena,
                       std::span<const SgdSegment> segments, Queue,
                       const NextSegments<SgdSegment>&) {
  with_float_type("sgd", dtype, [&]<class T>(Type<T>) {
    for (const SgdSegment& segment : segments) {
      const auto with = coefficients<T>(segment, arena.gradient_scale);
      for_ranges(segment.end - segment.begin, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = segment.begin + begin;
        kernels_for<T>().optimizer->sgd(
            with, at<T>(arena.values, first), static_cast<const T*>(arena.gradients) + first,
            segment.momentum == 0 ? nullptr : at<T>(arena.first_moment, first), end - begin);
      });
    }
  });
}

}  // namespace lockstep::inline v0::backend::cpu
