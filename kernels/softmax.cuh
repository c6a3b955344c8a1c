// The exponentials of one row, which softmax and cross-entropy share.
#pragma once

#include "core/portable_math.hpp"
#include "kernels/row_sums.cuh"

namespace lockstep::kernels {

struct Larger {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

template <class T>
struct RowExponentials {
  T top;       // the largest element; a NaN is never larger
  double sum;  // of exp(x - top)
};

/// Of x[0], x[stride], ... up to `extent` elements; every thread of the block calls it, with an
/// extent of 0 where there is no row.
template <class RowTeam, class T>
__device__ __forceinline__ RowExponentials<T> row_exponentials(const T* x, std::int64_t stride,
                                                               std::int64_t extent) {
  constexpr int kLanes = kThreads / RowTeam::kPerBlock;
  T top = static_cast<T>(-__builtin_inf());
  for (std::int64_t i = RowTeam::lane(); i < extent; i += kLanes)
    top = Larger{}(top, x[i * stride]);
  top = RowTeam::all(top, Larger{});
  double part = 0;
  for (std::int64_t i = RowTeam::lane(); i < extent; i += kLanes)
    part += static_cast<double>(portable::exp_below_one(x[i * stride] - top));
  return {top, RowTeam::all(part, Plus{})};
}

}  // namespace lockstep::kernels
