// What the tests that compare the CPU with CUDA share: how near results have to be, and what they
// do where there is no GPU.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/core/device.hpp>
#include <lockstep/core/dtype.hpp>

namespace parity {

// The tolerances, all of them: largest difference over (1 + largest value). Elementwise operations,
// casts, random numbers and optimizer passes have none: they have the same bits.

/// Sums, which are added up in float64 in another order and rounded once.
template <class T>
inline constexpr double kSum = sizeof(T) == 4 ? 1e-6 : 1e-13;
/// Matrix products, and what is computed from them.
template <class T>
inline constexpr double kProduct = sizeof(T) == 4 ? 1e-5 : 1e-12;
/// Twenty steps of training a small network.
template <class T>
inline constexpr double kTraining = sizeof(T) == 4 ? 1e-4 : 1e-10;
/// Products of operands in 16 bits, of which the result is rounded to 16 bits: two last places.
inline constexpr double kBfloat16Product = 0x1p-7;
inline constexpr double kFloat16Product = 0x1p-10;
/// Products whose operands were rounded to TF32: 2^-11 each, and they may all lean one way.
inline constexpr double kTf32Product = 0x1p-9;

/// Whether a test case has nothing to compare with. It says so, which marks the test as skipped.
inline bool no_device() {
  if (lockstep::cuda_device_count() > 0) return false;
  std::puts("parity: no CUDA device can be used here");
  return true;
}

/// Whether both are the same bits, element by element, or both NaN.
template <class T>
bool same(const std::vector<T>& cpu, const std::vector<T>& cuda) {
  if (cpu.size() != cuda.size()) return false;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(cpu[i]) && std::isnan(cuda[i])) continue;
    if (std::memcmp(&cpu[i], &cuda[i], sizeof(T)) != 0) return false;
  }
  return true;
}

template <class T>
bool same(const std::vector<std::vector<T>>& cpu, const std::vector<std::vector<T>>& cuda) {
  if (cpu.size() != cuda.size()) return false;
  for (std::size_t i = 0; i < cpu.size(); ++i)
    if (!same(cpu[i], cuda[i])) return false;
  return true;
}

/// The largest difference over (1 + the largest finite value). Infinite if a NaN or an infinity
/// stands in one alone, or the sizes differ.
template <class T>
double apart(const std::vector<T>& cpu, const std::vector<T>& cuda) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (cpu.size() != cuda.size()) return kFar;
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const double a = static_cast<double>(cpu[i]);
    const double b = static_cast<double>(cuda[i]);
    if (std::isfinite(a) && std::isfinite(b)) {
      largest = std::fmax(largest, std::fabs(a));
      difference = std::fmax(difference, std::fabs(a - b));
    } else if (!(a == b || (std::isnan(a) && std::isnan(b)))) {
      return kFar;
    }
  }
  return difference / (1 + largest);
}

template <class T>
double apart(const std::vector<std::vector<T>>& cpu, const std::vector<std::vector<T>>& cuda) {
  if (cpu.size() != cuda.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) largest = std::fmax(largest, apart(cpu[i], cuda[i]));
  return largest;
}

/// The same for what both sides gave.
template <class Results>
bool same(const std::pair<Results, Results>& both) {
  return same(both.first, both.second);
}
template <class Results>
double apart(const std::pair<Results, Results>& both) {
  return apart(both.first, both.second);
}

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed, double low = -2, double high = 2) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(distribution(engine));
  return values;
}

/// Random values, and among them NaN, infinities, zeros of both signs and subnormal numbers.
template <class T>
std::vector<T> awkward_values(std::int64_t count, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  const T awkward[] = {Limits::quiet_NaN(),  Limits::infinity(), -Limits::infinity(), T{0}, -T{0},
                       Limits::denorm_min(), -Limits::min() / 3, Limits::max()};
  std::vector<T> values = random_values<T>(count, seed);
  std::mt19937_64 engine(seed + 1);
  for (T& value : values)
    if (engine() % 7 == 0) value = awkward[engine() % 8];
  return values;
}

}  // namespace parity
