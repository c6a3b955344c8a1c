// The unary operations: one struct each, forward and backward, read by the vector code of the CPU
// and by the kernels alike, so that both give the same bits. By the rules of portable_math.hpp.
//
// A struct has its operation, its name, whether its derivative is computed from the result or from
// x, and two functions. A NaN in x stays one; derivatives where there are none are PyTorch's.
#pragma once

#include "core/portable_normal.hpp"
#include "core/portable_power.hpp"
#include "core/unary_operation.hpp"

namespace lockstep::inline v0::portable {

#define LOCKSTEP_MATH [[gnu::always_inline, maybe_unused]] static constexpr
#define LOCKSTEP_UNARY \
  template <class T>   \
  LOCKSTEP_MATH T

struct Abs {
  static constexpr auto kOperation = UnaryOperation::abs;
  static constexpr const char* kName = "abs";
  static constexpr bool kFromResult = false;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return abs(x); }
  LOCKSTEP_UNARY backward(T x, T gradient, UnaryNumbers<T>) {
    return gradient * (x > 0 ? T{1} : (x < 0 ? T{-1} : T{0}));
  }
};

struct Clamp {
  static constexpr auto kOperation = UnaryOperation::clamp;
  static constexpr const char* kName = "clamp";
  static constexpr bool kFromResult = false;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T> bounds) {
    const T raised = x < bounds.first ? bounds.first : x;
    return raised > bounds.second ? bounds.second : raised;
  }
  LOCKSTEP_UNARY backward(T x, T gradient, UnaryNumbers<T> bounds) {
    return x >= bounds.first && x <= bounds.second ? gradient : T{0};
  }
};

struct Exp {
  static constexpr auto kOperation = UnaryOperation::exp;
  static constexpr const char* kName = "exp";
  static constexpr bool kFromResult = true;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return exp(x); }
  LOCKSTEP_UNARY backward(T y, T gradient, UnaryNumbers<T>) { return gradient * y; }
};

/// x P(X <= x) of the normal distribution; its derivative adds x times the density.
struct Gelu {
  static constexpr auto kOperation = UnaryOperation::gelu;
  static constexpr const char* kName = "gelu";
  static constexpr bool kFromResult = false;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) {
    return (x > 0 ? x : T{0}) - normal_tail_product(abs(x));
  }
  LOCKSTEP_UNARY backward(T x, T gradient, UnaryNumbers<T>) {
    const T below = normal_tail_less_moment(abs(x));
    return (x > 0 ? T{1} - below : below) * gradient;
  }
};

/// The derivative of x sigmoid(v(x)), with s = sigmoid(v): s + x s (1 - s) v'. Far out, where v'
/// overflows and s (1 - s) is 0, the second term is 0.
LOCKSTEP_UNARY gated_slope(T x, T v, T v_slope) {
  const T z = exp(v > 0 ? -v : v);
  const T one_more = T{1} + z;
  const T s = (v > 0 ? T{1} : z) / one_more;
  const T second = x * (z / (one_more * one_more)) * v_slope;
  return s + (z == 0 ? T{0} : second);
}

/// The tanh form of GELU (Hendrycks and Gimpel, "Gaussian error linear units", 2016),
/// x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), as x * sigmoid(2 u): without the
/// difference 1 + tanh(u), small values for negative x keep their precision.
struct GeluTanh {
  static constexpr auto kOperation = UnaryOperation::gelu_tanh;
  static constexpr const char* kName = "gelu_tanh";
  static constexpr bool kFromResult = false;
  static constexpr double kTwice = 1.59576912160573071176;  // 2 sqrt(2 / pi)
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) {
    return x * sigmoid(static_cast<T>(kTwice) * (x + static_cast<T>(0.044715) * (x * x * x)));
  }
  LOCKSTEP_UNARY backward(T x, T gradient, UnaryNumbers<T>) {
    const T square = x * x;
    const T v = static_cast<T>(kTwice) * (x + static_cast<T>(0.044715) * (square * x));
    const T v_slope =
        static_cast<T>(kTwice) * (T{1} + static_cast<T>(0.134145) * square);  // 3 * 0.044715
    return gated_slope(x, v, v_slope) * gradient;
  }
};

struct Log {
  static constexpr auto kOperation = UnaryOperation::log;
  static constexpr const char* kName = "log";
  static constexpr bool kFromResult = false;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return log(x); }
  LOCKSTEP_UNARY backward(T x, T gradient, UnaryNumbers<T>) { return gradient / x; }
};

struct Pow {
  static constexpr auto kOperation = UnaryOperation::pow;
  static constexpr const char* kName = "pow";
  static constexpr bool kFromResult = false;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T> power) { return pow(x, power.first); }
  LOCKSTEP_UNARY backward(T x, T gradient, UnaryNumbers<T> power) {
    const T slope = power.first * pow(x, power.second);
    return power.first == 0 ? T{0} : gradient * slope;
  }
};

/// The comparisons are written so that a NaN takes the first branch.
struct Relu {
  static constexpr auto kOperation = UnaryOperation::relu;
  static constexpr const char* kName = "relu";
  static constexpr bool kFromResult = true;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return !(x <= 0) ? x : T{0}; }
  LOCKSTEP_UNARY backward(T y, T gradient, UnaryNumbers<T>) { return !(y <= 0) ? gradient : T{0}; }
};

struct Sigmoid {
  static constexpr auto kOperation = UnaryOperation::sigmoid;
  static constexpr const char* kName = "sigmoid";
  static constexpr bool kFromResult = true;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return sigmoid(x); }
  LOCKSTEP_UNARY backward(T y, T gradient, UnaryNumbers<T>) { return gradient * (T{1} - y) * y; }
};

struct Silu {
  static constexpr auto kOperation = UnaryOperation::silu;
  static constexpr const char* kName = "silu";
  static constexpr bool kFromResult = false;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return x * sigmoid(x); }
  LOCKSTEP_UNARY backward(T x, T gradient, UnaryNumbers<T>) {
    return gated_slope(x, x, T{1}) * gradient;
  }
};

LOCKSTEP_UNARY square_root(T x) {
  if constexpr (sizeof(T) == sizeof(float))
    return __builtin_sqrtf(x);
  else
    return __builtin_sqrt(x);
}

struct Sqrt {
  static constexpr auto kOperation = UnaryOperation::sqrt;
  static constexpr const char* kName = "sqrt";
  static constexpr bool kFromResult = true;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return square_root(x); }
  LOCKSTEP_UNARY backward(T y, T gradient, UnaryNumbers<T>) { return gradient / (T{2} * y); }
};

struct Tanh {
  static constexpr auto kOperation = UnaryOperation::tanh;
  static constexpr const char* kName = "tanh";
  static constexpr bool kFromResult = true;
  LOCKSTEP_UNARY forward(T x, UnaryNumbers<T>) { return tanh(x); }
  LOCKSTEP_UNARY backward(T y, T gradient, UnaryNumbers<T>) { return gradient * (T{1} - y * y); }
};

#undef LOCKSTEP_UNARY

template <class Visitor, class... Functions>
LOCKSTEP_MATH void visit_each(const Visitor& visitor, Functions... functions) {
  (visitor(functions), ...);
}

/// visitor(Function{}) for every operation.
template <class Visitor>
LOCKSTEP_MATH void for_each_unary(const Visitor& visitor) {
  visit_each(visitor, Abs{}, Clamp{}, Exp{}, Gelu{}, GeluTanh{}, Log{}, Pow{}, Relu{}, Sigmoid{},
             Silu{}, Sqrt{}, Tanh{});
}

LOCKSTEP_MATH const char* name_of(UnaryOperation operation) {
  const char* name = "?";
  for_each_unary([&](auto function) {
    if (function.kOperation == operation) name = function.kName;
  });
  return name;
}

#undef LOCKSTEP_MATH

}  // namespace lockstep::inline v0::portable
