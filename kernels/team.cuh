// A team: the threads that work on one row. A short row has a few lanes of one warp, so that the
// lanes of a warp read consecutive memory; a long row has a whole block.
#pragma once

#include "kernels/launch.cuh"

namespace lockstep::kernels {

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr int kWarp = 32;

__device__ __forceinline__ float shuffled(float x, int offset) {
  return __shfl_xor_sync(kAllLanes, x, offset);
}
__device__ __forceinline__ double shuffled(double x, int offset) {
  return __shfl_xor_sync(kAllLanes, x, offset);
}
__device__ __forceinline__ long long shuffled(long long x, int offset) {
  return __shfl_xor_sync(kAllLanes, x, offset);
}

/// kLanes: a power of two up to 32, or kThreads.
template <int kLanes>
struct Team {
  static constexpr int kPerBlock = kThreads / kLanes;

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  /// The team's number in its block.
  static __device__ __forceinline__ int number() { return static_cast<int>(threadIdx.x) / kLanes; }

  /// All lanes combined, in an order that depends on kLanes alone; the same result in each lane.
  /// combine(a, b) must not depend on the order of its arguments. Every thread of the block calls
  /// it.
  template <class Value, class Combine>
  static __device__ __forceinline__ Value all(Value value, const Combine& combine) {
    constexpr int kWidth = kLanes < kWarp ? kLanes : kWarp;
#pragma unroll
    for (int offset = kWidth / 2; offset > 0; offset /= 2)
      value = combine(value, shuffled(value, offset));
    if constexpr (kLanes > kWarp) {
      __shared__ Value parts[kLanes / kWarp];
      if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = value;
      __syncthreads();
      value = parts[0];
#pragma unroll
      for (int part = 1; part < kLanes / kWarp; ++part) value = combine(value, parts[part]);
      __syncthreads();
    }
    return value;
  }
};

/// body(Team<...>{}) with the team that suits the rows; depends on the extents alone.
template <class Body>
cudaError_t with_team(std::int64_t rows, std::int64_t extent, const Body& body) {
  if (extent <= 4) return body(Team<4>{});
  if (extent <= 8) return body(Team<8>{});
  if (extent <= 16) return body(Team<16>{});
  if (extent <= 128 || (extent <= 1024 && rows >= 1024)) return body(Team<kWarp>{});
  return body(Team<kThreads>{});
}

/// body.row<Team>(row, exists) for all rows; where `exists` is false there is nothing to do but to
/// take part in what the team combines.
template <class RowTeam, class Body>
__global__ void rows_kernel(const Body body, const std::int64_t rows) {
  constexpr std::int64_t kPerBlock = RowTeam::kPerBlock;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kPerBlock;
  for (std::int64_t first = blockIdx.x * kPerBlock; first < rows; first += step) {
    const std::int64_t row = first + RowTeam::number();
    body.template row<RowTeam>(row, row < rows);
  }
}

template <class Body>
cudaError_t launch_rows(const Body& body, std::int64_t rows, std::int64_t extent,
                        cudaStream_t stream) {
  return with_team(rows, extent, [&]<class RowTeam>(RowTeam) {
    return launch(rows_kernel<RowTeam, Body>, ceil_divide(rows, RowTeam::kPerBlock), kThreads,
                  stream, body, rows);
  });
}

}  // namespace lockstep::kernels
