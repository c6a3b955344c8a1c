#include "kernels/extreme.hpp"

#include "kernels/team.cuh"

namespace lockstep::kernels {
namespace {

/// What values travel between lanes as: long long for both integers.
template <class T>
struct ValueOf {
  using Type = long long;
};
template <>
struct ValueOf<float> {
  using Type = float;
};
template <>
struct ValueOf<double> {
  using Type = double;
};

template <class Value>
struct Candidate {
  Value value;
  long long index;
};

template <class Value>
__device__ __forceinline__ Candidate<Value> shuffled(const Candidate<Value>& x, int offset) {
  return {kernels::shuffled(x.value, offset), kernels::shuffled(x.index, offset)};
}

/// A NaN before any number, then the larger (or smaller) value, then the smaller index.
template <bool kMaximum>
struct Better {
  template <class Value>
  __device__ __forceinline__ Candidate<Value> operator()(const Candidate<Value>& a,
                                                         const Candidate<Value>& b) const {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    const bool alike = (a_nan && b_nan) || a.value == b.value;
    const bool beyond = kMaximum ? a.value > b.value : a.value < b.value;
    const bool first = alike ? a.index < b.index : (a_nan || (!b_nan && beyond));
    return first ? a : b;
  }
};

template <class T, bool kMaximum>
struct Extreme {
  using Best = Candidate<typename ValueOf<T>::Type>;

  const T* x;
  ExtremeExtents size;
  T* values;
  std::int64_t* indexes;

  __device__ __forceinline__ Best candidate(std::int64_t first, std::int64_t i) const {
    return {static_cast<typename ValueOf<T>::Type>(x[first + i * size.inner]), i};
  }
  __device__ __forceinline__ void finish(std::int64_t place, const Best& best) const {
    if (values != nullptr) values[place] = static_cast<T>(best.value);
    if (indexes != nullptr) indexes[place] = best.index;
  }

  /// Where the axis is the last one. A lane without elements offers the first, as another does.
  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t row, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    const std::int64_t first = exists ? row * size.extent : 0;
    const std::int64_t end = exists ? size.extent : 0;
    Best best = candidate(first, 0);
    for (std::int64_t i = RowTeam::lane(); i < end; i += kLanes)
      best = Better<kMaximum>{}(best, candidate(first, i));
    best = RowTeam::all(best, Better<kMaximum>{});
    if (exists && RowTeam::lane() == 0) finish(row, best);
  }

  /// Elsewhere a thread has a column, and threads side by side read consecutive memory.
  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t column) const {
    const std::int64_t outer = column / size.inner;
    const std::int64_t first = outer * (size.extent - 1) * size.inner + column;
    Best best = candidate(first, 0);
    for (std::int64_t i = 1; i < size.extent; ++i)
      best = Better<kMaximum>{}(best, candidate(first, i));
    finish(column, best);
  }
};

template <class T, bool kMaximum>
cudaError_t launch_extreme(const void* x, const ExtremeExtents& size, void* values,
                           std::int64_t* indexes, cudaStream_t stream) {
  const Extreme<T, kMaximum> body{static_cast<const T*>(x), size, static_cast<T*>(values), indexes};
  if (size.inner == 1) return launch_rows(body, size.outer, size.extent, stream);
  return launch_for_each<1>(body, size.outer * size.inner, true, stream);
}

template <class T>
struct ExtremeBackward {
  const T* gradient;
  const std::int64_t* indexes;
  ExtremeExtents size;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    const std::int64_t row = i / size.inner;
    const std::int64_t outer = row / size.extent;
    const std::int64_t place = outer * size.inner + (i - row * size.inner);
    result[i] = indexes[place] == row - outer * size.extent ? gradient[place] : T{0};
  }
};

}  // namespace

cudaError_t extreme(Type type, bool maximum, const void* x, const ExtremeExtents& size,
                    void* values, std::int64_t* indexes, cudaStream_t stream) {
  if (size.extent <= 0) return cudaErrorInvalidValue;
  return with_ordered_type(type, [&]<class T>(Tag<T>) {
    return maximum ? launch_extreme<T, true>(x, size, values, indexes, stream)
                   : launch_extreme<T, false>(x, size, values, indexes, stream);
  });
}

cudaError_t extreme_backward(Type type, const void* gradient, const std::int64_t* indexes,
                             const ExtremeExtents& size, void* result, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const ExtremeBackward<T> body{static_cast<const T*>(gradient), indexes, size,
                                  static_cast<T*>(result)};
    return launch_for_each<1>(body, size.outer * size.extent * size.inner, true, stream);
  });
}

}  // namespace lockstep::kernels
