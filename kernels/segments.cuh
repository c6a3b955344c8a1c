// A pass over the segments of an arena in one launch.
#pragma once

#include "kernels/launch.cuh"
#include "kernels/optimizer.hpp"
#include "kernels/pack.cuh"

namespace lockstep::kernels {

/// The first segment from `first` on that ends after element i; `count` if there is none.
template <class Segment>
__device__ __forceinline__ int segment_after(const Segment* segments, int first, int count,
                                             std::int64_t i) {
  int last = count;
  while (first < last) {
    const int middle = first + (last - first) / 2;
    if (segments[middle].end > i)
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

/// Elements [i, i + kWidth) one by one: the pack holds the end of a segment, or lies at one.
template <int kWidth, class T, class Segment, class Update>
__device__ __forceinline__ void update_edge(const Update& update, const Segment* segments, int at,
                                            int count, std::int64_t i, T gradient_scale) {
  for (std::int64_t element = i; element < i + kWidth; ++element) {
    while (at < count && segments[at].end <= element) ++at;
    if (at == count) return;
    if (segments[at].begin <= element)
      update.template run<1>(element, segments[at], gradient_scale);
  }
}

/// update.run<width>(i, segment, gradient_scale) for elements [i, i + width) of one segment. A
/// thread keeps its segment from pack to pack, since most arenas have few and long ones.
template <int kWidth, class T, class Segment, class Update>
__global__ void segments_kernel(const Update update, const Segment* segments, const int count,
                                const std::int64_t first_pack, const std::int64_t end_pack,
                                const StepScalars scalars) {
  if (scalars.skip != nullptr && *scalars.skip != 0) return;
  double scale = scalars.gradient_scale;
  if (scalars.device_scale != nullptr) scale *= *scalars.device_scale;
  const T gradient_scale = static_cast<T>(scale);

  int at = 0;
  Segment segment = segments[0];
  for (std::int64_t pack = first_pack + grid_thread(); pack < end_pack; pack += grid_threads()) {
    const std::int64_t i = pack * kWidth;
    if (segment.end <= i) {
      at = segment_after(segments, at, count, i);
      if (at == count) return;
      segment = segments[at];
    }
    if (segment.begin <= i && i + kWidth <= segment.end)
      update.template run<kWidth>(i, segment, gradient_scale);
    else if (kWidth > 1)
      update_edge<kWidth>(update, segments, at, count, i, gradient_scale);
  }
}

template <int kWidth, class T, class Segment, class Update>
cudaError_t launch_segments(const Update& update, const Segment* segments, int segment_count,
                            std::int64_t begin, std::int64_t end, const StepScalars& scalars,
                            cudaStream_t stream) {
  if (begin >= end || segment_count <= 0) return cudaSuccess;
  const std::int64_t first_pack = begin / kWidth;
  const std::int64_t end_pack = ceil_divide(end, kWidth);
  return launch(segments_kernel<kWidth, T, Segment, Update>,
                ceil_divide(end_pack - first_pack, kThreads), kThreads, stream, update, segments,
                segment_count, first_pack, end_pack, scalars);
}

}  // namespace lockstep::kernels
