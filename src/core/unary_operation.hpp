// Names the unary operations; unary_functions.hpp has them. Device code reads this header too.
#pragma once

#include <cstdint>

namespace lockstep::inline v0::portable {

enum class UnaryOperation : std::uint8_t {
  abs,
  clamp,
  exp,
  gelu,
  gelu_tanh,
  log,
  pow,
  relu,
  sigmoid,
  silu,
  sqrt,
  tanh
};
inline constexpr int kUnaryOperations = 12;

/// The numbers that an operation has beside x: the bounds of clamp; for pow the exponent, and the
/// exponent of the derivative. The others ignore them.
template <class T>
struct UnaryNumbers {
  T first{};
  T second{};
};

}  // namespace lockstep::inline v0::portable
