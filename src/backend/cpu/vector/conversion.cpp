// Casts between all dtypes, and folds: sums and extremes of several arrays, in their order.
#include "backend/cpu/vector/halves.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

template <class T>
constexpr bool kIsHalf = false;
template <>
constexpr bool kIsHalf<Bfloat16> = true;
template <>
constexpr bool kIsHalf<Float16> = true;
template <class T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;

/// Truncates; out of range saturates and NaN is 0, where C++ leaves the result undefined.
template <class To, class From>
[[gnu::always_inline]] inline To truncate(From x) {
  constexpr bool kSigned = static_cast<To>(-1) < To{0};
  constexpr int kBits = static_cast<int>(sizeof(To)) * 8 - (kSigned ? 1 : 0);
  constexpr From kEnd = static_cast<From>(std::uint64_t{1} << (kBits - 1)) * 2;
  constexpr To kLargest =
      static_cast<To>((((std::uint64_t{1} << (kBits - 1)) - 1) << 1) | 1);  // 2^bits - 1
  constexpr To kSmallest = kSigned ? static_cast<To>(-kLargest - 1) : To{0};
  const bool above = x >= kEnd;
  const bool below = kSigned ? x < -kEnd : x <= From{-1};
  const bool usable = !above && !below && x == x;
  const To inside = static_cast<To>(usable ? x : From{0});
  return above ? kLargest : (below ? kSmallest : inside);
}

template <class From, class To>
[[gnu::always_inline]] inline void convert(From x, To& result) {
  if constexpr (kIsHalf<From>) {
    convert(widen(x), result);
  } else if constexpr (kIsHalf<To>) {
    if constexpr (sizeof(From) == 8)
      narrow(to_odd(x), result);
    else if constexpr (kIsFloat<From>)
      narrow(x, result);
    else
      narrow(to_odd(static_cast<double>(x)), result);
  } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    result = truncate<To>(x);
  } else {
    result = static_cast<To>(x);
  }
}

template <class From, class To>
void cast(const void* from, void* to, std::int64_t count) {
  const From* x = static_cast<const From*>(from);
  To* result = static_cast<To*>(to);
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) convert(x[i], result[i]);
}

/// What sums are added up in: 16-bit types in float32, integers as unsigned ones, which wrap.
template <class T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<Bfloat16> {
  using Type = float;
};
template <>
struct SumOf<Float16> {
  using Type = float;
};
template <>
struct SumOf<std::int64_t> {
  using Type = std::uint64_t;
};
template <>
struct SumOf<std::int32_t> {
  using Type = std::uint32_t;
};

template <class To, class T>
[[gnu::always_inline]] inline To read(T x) {
  if constexpr (kIsHalf<T>)
    return widen(x);
  else
    return static_cast<To>(x);
}

template <class T, class Sum>
[[gnu::always_inline]] inline void write(Sum x, T& result) {
  if constexpr (kIsHalf<T>)
    narrow(x, result);
  else
    result = static_cast<T>(x);
}

struct Plus {
  template <class S>
  [[gnu::always_inline]] static S apply(S a, S b) {
    return static_cast<S>(a + b);
  }
};
// In both, a NaN on either side wins, and of equals the first. Integers are compared as what they
// are, not as the unsigned ones of sums.
struct Smaller {
  template <class S>
  [[gnu::always_inline]] static S apply(S a, S b) {
    return a != a ? a : (!(b >= a) ? b : a);
  }
};
struct Larger {
  template <class S>
  [[gnu::always_inline]] static S apply(S a, S b) {
    return a != a ? a : (!(b <= a) ? b : a);
  }
};

/// In blocks that stay in the first-level cache; the result is written when a block is complete, so
/// it may be one of the sources.
template <class Operation, class T, class Sum = typename SumOf<T>::Type>
void fold(const void* const* sources, int source_count, void* result, std::int64_t begin,
          std::int64_t end) {
  constexpr std::int64_t kBlock = 512;
  for (std::int64_t first = begin; first < end; first += kBlock) {
    const std::int64_t count = end - first < kBlock ? end - first : kBlock;
    Sum sums[kBlock];
    const T* start = static_cast<const T*>(sources[0]) + first;
    for (std::int64_t i = 0; i < count; ++i) sums[i] = read<Sum>(start[i]);
    for (int source = 1; source < source_count; ++source) {
      const T* values = static_cast<const T*>(sources[source]) + first;
      for (std::int64_t i = 0; i < count; ++i)
        sums[i] = Operation::apply(sums[i], read<Sum>(values[i]));
    }
    T* target = static_cast<T*>(result) + first;
    for (std::int64_t i = 0; i < count; ++i) write(sums[i], target[i]);
  }
}

}  // namespace

#define LOCKSTEP_CASTS_FROM(T)                                                                   \
  {                                                                                              \
    cast<T, float>, cast<T, double>, cast<T, Bfloat16>, cast<T, Float16>, cast<T, std::int64_t>, \
        cast<T, std::int32_t>, cast<T, std::uint8_t>                                             \
  }

const ConversionKernels kConversion = {
    {LOCKSTEP_CASTS_FROM(float), LOCKSTEP_CASTS_FROM(double), LOCKSTEP_CASTS_FROM(Bfloat16),
     LOCKSTEP_CASTS_FROM(Float16), LOCKSTEP_CASTS_FROM(std::int64_t),
     LOCKSTEP_CASTS_FROM(std::int32_t), LOCKSTEP_CASTS_FROM(std::uint8_t)},
    {fold<Plus, float>, fold<Plus, double>, fold<Plus, Bfloat16>, fold<Plus, Float16>,
     fold<Plus, std::int64_t>, fold<Plus, std::int32_t>, fold<Plus, std::uint8_t>},
    {fold<Smaller, float>, fold<Smaller, double>, nullptr, nullptr,
     fold<Smaller, std::int64_t, std::int64_t>, fold<Smaller, std::int32_t, std::int32_t>, nullptr},
    {fold<Larger, float>, fold<Larger, double>, nullptr, nullptr,
     fold<Larger, std::int64_t, std::int64_t>, fold<Larger, std::int32_t, std::int32_t>, nullptr},
};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
