// Differentiable operations. float32 and float64 are computed; operands share dtype and device.
// All throw ShapeError (both shapes named) and InvalidUsage (dtypes, devices named). Nothing here
// synchronizes.
#pragma once

#include <cstdint>

#include <lockstep/core/axes.hpp>
#include <lockstep/core/rows.hpp>
#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

/// Elementwise with broadcasting: axes are aligned at the end, a size of 1 is repeated.
LOCKSTEP_API Tensor add(const Tensor& a, const Tensor& b);
LOCKSTEP_API Tensor sub(const Tensor& a, const Tensor& b);
LOCKSTEP_API Tensor mul(const Tensor& a, const Tensor& b);
LOCKSTEP_API Tensor add(const Tensor& a, double b);
LOCKSTEP_API Tensor mul(const Tensor& a, double b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, double b) { return add(a, -b); }
inline Tensor operator-(double a, const Tensor& b) { return add(mul(b, -1.0), a); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator-(const Tensor& a) { return mul(a, -1.0); }

/// max(x, 0); a NaN stays a NaN. The derivative at 0 is 0.
LOCKSTEP_API Tensor relu(const Tensor& x);

/// The tanh form of GELU, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): PyTorch's
/// gelu(x, approximate="tanh").
LOCKSTEP_API Tensor gelu_tanh(const Tensor& x);

/// (..., m, k) x (..., k, n) -> (..., m, n): a product of each two matrices of the last axes; the
/// axes before them are broadcast.
LOCKSTEP_API Tensor matmul(const Tensor& a, const Tensor& b);
/// x (..., in), weight (out, in), bias (out) or undefined -> x weight^T + bias, (..., out).
LOCKSTEP_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// Over all elements -> scalar. The mean of no elements is NaN, the sum is 0.
LOCKSTEP_API Tensor sum(const Tensor& x);
LOCKSTEP_API Tensor mean(const Tensor& x);

/// The same elements in another shape (shares the data). One size may be -1 and follows from the
/// others.
LOCKSTEP_API Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes);
LOCKSTEP_API Tensor reshape(const Tensor& x, const Shape& shape);

enum class Reduction : std::uint8_t { mean, sum };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;  // mean: over the labels that are not ignored
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;  // in [0, 1]: this part of a label is spread evenly over the classes
};
/// -log softmax(logits)[label]: logits (batch, classes), labels (batch) int64 -> scalar. Stable for
/// any finite logits. With every label ignored the mean is NaN as in PyTorch, and the gradient is
/// exactly 0.
/// @throws InvalidUsage for a label outside [0, classes) that is not ignore_index.
LOCKSTEP_API Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                                  CrossEntropyOptions options = {});

struct MseOptions {
  Reduction reduction = Reduction::mean;
};
/// (prediction - target)^2, same shapes -> scalar.
LOCKSTEP_API Tensor mse_loss(const Tensor& prediction, const Tensor& target,
                             MseOptions options = {});

}  // namespace lockstep::inline v0
