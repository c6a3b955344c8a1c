#include "kernels/argmax.hpp"

#include "kernels/team.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Candidate {
  T value;
  long long index;
};

template <class T>
__device__ __forceinline__ Candidate<T> shuffled(const Candidate<T>& x, int offset) {
  return {kernels::shuffled(x.value, offset), kernels::shuffled(x.index, offset)};
}

/// A NaN before any number, then the larger value, then the smaller index.
struct Better {
  template <class T>
  __device__ __forceinline__ Candidate<T> operator()(const Candidate<T>& a,
                                                     const Candidate<T>& b) const {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    const bool alike = (a_nan && b_nan) || a.value == b.value;
    const bool first = alike ? a.index < b.index : (a_nan || (!b_nan && a.value > b.value));
    return first ? a : b;
  }
};

template <class T>
struct Argmax {
  const T* x;
  std::int64_t columns;
  std::int64_t* result;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t row, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    // An index beyond all others, so that a lane without elements never wins.
    Candidate<T> best{static_cast<T>(-__builtin_inf()), 0x7fffffffffffffffLL};
    const std::int64_t end = exists ? columns : 0;
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes)
      best = Better{}(best, Candidate<T>{x[row * columns + i], i});
    best = RowTeam::all(best, Better{});
    if (exists && RowTeam::lane() == 0) result[row] = best.index;
  }
};

}  // namespace

cudaError_t argmax(Type type, const void* x, std::int64_t rows, std::int64_t columns,
                   std::int64_t* result, cudaStream_t stream) {
  if (columns <= 0) return cudaErrorInvalidValue;
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return launch_rows(Argmax<T>{static_cast<const T*>(x), columns, result}, rows, columns, stream);
  });
}

}  // namespace lockstep::kernels
