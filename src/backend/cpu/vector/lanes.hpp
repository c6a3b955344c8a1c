// 16 accumulators of float64: element i goes to lane i % 16 whatever the width of the vectors, and
// the lanes are added along one binary tree.
#pragma once

#include "backend/cpu/vector/tables.hpp"

// LOCKSTEP_LANES before a loop over the lanes: GCC would otherwise unroll it before it looks for
// vectors, and then find none.
#if defined(__clang__)
#define LOCKSTEP_LANES
#else
#define LOCKSTEP_LANES _Pragma("GCC unroll 1")
#endif

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

constexpr std::int64_t kLanes = 16;

/// What a register of this variant holds.
#if defined(__AVX512F__)
constexpr std::int64_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr std::int64_t kVectorBytes = 32;
#else
constexpr std::int64_t kVectorBytes = 16;
#endif

/// One element per lane, in as many registers as they take.
template <class T>
struct LaneVector {
  using Register [[gnu::vector_size(kVectorBytes)]] = T;
  static constexpr std::int64_t kRegisters =
      kLanes * static_cast<std::int64_t>(sizeof(T)) / kVectorBytes;
  Register registers[kRegisters];

  [[gnu::always_inline]] explicit LaneVector(T value) {
    for (Register& part : registers) part = Register{} + value;
  }
  [[gnu::always_inline]] explicit LaneVector(const T* values) {
    for (std::int64_t i = 0; i < kRegisters; ++i) registers[i] = load(values, i);
  }
  [[gnu::always_inline]] void add(const T* values) {
    for (std::int64_t i = 0; i < kRegisters; ++i) registers[i] += load(values, i);
  }
  /// A NaN is never larger.
  [[gnu::always_inline]] void take_larger(const T* values) {
    for (std::int64_t i = 0; i < kRegisters; ++i) {
      const Register other = load(values, i);
      registers[i] = other > registers[i] ? other : registers[i];
    }
  }
  [[gnu::always_inline]] void store(T* values) const {
    __builtin_memcpy(values, registers, sizeof registers);
  }

 private:
  [[gnu::always_inline]] static Register load(const T* values, std::int64_t i) {
    Register result;
    __builtin_memcpy(&result, values + i * (kLanes / kRegisters), sizeof result);
    return result;
  }
};

struct Lanes {
  LaneVector<double> sums{0.0};

  [[gnu::always_inline]] double total() const {
    double tree[kLanes];
    sums.store(tree);
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
      for (std::int64_t lane = 0; lane < half; ++lane) tree[lane] += tree[lane + half];
    return tree[0];
  }
};

/// term(i) for all lanes, or those below count.
template <class Term>
[[gnu::always_inline]] inline void add_terms(std::int64_t i, std::int64_t count, Term term,
                                             Lanes& lanes) {
  double terms[kLanes];
  if (i + kLanes <= count) {
    LOCKSTEP_LANES
    for (std::int64_t lane = 0; lane < kLanes; ++lane) terms[lane] = term(i + lane);
  } else {
    for (double& value : terms) value = 0;
    for (std::int64_t lane = 0; i + lane < count; ++lane) terms[lane] = term(i + lane);
  }
  lanes.sums.add(terms);
}

/// Adds term(i) for i in [0, count).
template <class Term>
[[gnu::always_inline]] inline double sum_in_lanes(std::int64_t count, Term term) {
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) add_terms(i, count, term, lanes);
  if (i < count) add_terms(i, count, term, lanes);
  return lanes.total();
}

/// Two sums in one pass.
template <class First, class Second>
[[gnu::always_inline]] inline void sums_in_lanes(std::int64_t count, First first, Second second,
                                                 double (&totals)[2]) {
  Lanes firsts;
  Lanes seconds;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    add_terms(i, count, first, firsts);
    add_terms(i, count, second, seconds);
  }
  if (i < count) {
    add_terms(i, count, first, firsts);
    add_terms(i, count, second, seconds);
  }
  totals[0] = firsts.total();
  totals[1] = seconds.total();
}

}  // namespace
}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
