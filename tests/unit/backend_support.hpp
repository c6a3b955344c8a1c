// Shared by the tests of the CPU backend.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/variant.hpp"

namespace backend_test {

using namespace lockstep;
using namespace lockstep::backend;

inline constexpr Queue kQueue{};

/// Sizes around every vector width and lane count.
inline constexpr std::int64_t kOddSizes[] = {0,  1,  2,  3,  7,   8,   9,   15,  16,   17,
                                             31, 33, 63, 65, 127, 129, 511, 513, 1000, 4097};

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed, double low = -2, double high = 2) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(distribution(engine));
  return values;
}

/// Whether both hold the same bytes.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Runs `body(variant)` with every variant that this machine can run, and restores the choice.
template <class Body>
void for_each_variant(const Body& body) {
  const cpu::Kernels& before = cpu::kernels();
  for (const cpu::Kernels* variant : cpu::usable_variants()) {
    cpu::use_variant(*variant);
    body(variant->variant);
  }
  cpu::use_variant(before);
}

/// `operation()` returns its result; all variants must return the bits of the first.
template <class Operation>
bool same_in_all_variants(const Operation& operation) {
  bool same = true;
  bool first = true;
  decltype(operation()) expected;
  for_each_variant([&](const char*) {
    auto result = operation();
    if (first) expected = result;
    same = same && same_bits(expected, result);
    first = false;
  });
  return same;
}

}  // namespace backend_test
