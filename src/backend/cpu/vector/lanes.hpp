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

/// Adds term(i) for i in [0, count).
template <class Term>
[[gnu::always_inline]] inline double sum_in_lanes(std::int64_t count, Term term) {
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    double terms[kLanes];
    LOCKSTEP_LANES
    for (std::int64_t lane = 0; lane < kLanes; ++lane) terms[lane] = term(i + lane);
    lanes.sums.add(terms);
  }
  if (i < count) {
    double terms[kLanes] = {};
    for (std::int64_t lane = 0; i < count; ++i, ++lane) terms[lane] = term(i);
    lanes.sums.add(terms);
  }
  return lanes.total();
}

}  // namespace
}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
