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
LOCKSTEP_API Tensor div(const Tensor& a, const Tensor& b);
LOCKSTEP_API Tensor div(const Tensor& a, double b);
LOCKSTEP_API Tensor div(double a, const Tensor& b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, double b) { return add(a, -b); }
inline Tensor operator-(double a, const Tensor& b) { return add(mul(b, -1.0), a); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return mul(a, -1.0); }

/// Elementwise functions of one tensor; a NaN stays a NaN. src/core/unary_functions.hpp has them.
LOCKSTEP_API Tensor exp(const Tensor& x);
LOCKSTEP_API Tensor log(const Tensor& x);
LOCKSTEP_API Tensor sqrt(const Tensor& x);
LOCKSTEP_API Tensor tanh(const Tensor& x);
/// The derivative at 0 is 0.
LOCKSTEP_API Tensor abs(const Tensor& x);
/// x^exponent as std::pow has it: NaN for x < 0 unless the exponent is whole.
LOCKSTEP_API Tensor pow(const Tensor& x, double exponent);
/// min(max(x, low), high). The derivative is 1 from low to high, both included, and 0 outside.
/// @throws InvalidUsage unless low <= high.
LOCKSTEP_API Tensor clamp(const Tensor& x, double low, double high);

/// max(x, 0). The derivative at 0 is 0.
LOCKSTEP_API Tensor relu(const Tensor& x);
/// 1 / (1 + exp(-x)).
LOCKSTEP_API Tensor sigmoid(const Tensor& x);
/// x sigmoid(x).
LOCKSTEP_API Tensor silu(const Tensor& x);
/// x P(X <= x) of the normal distribution, x / 2 (1 + erf(x / sqrt(2))).
LOCKSTEP_API Tensor gelu(const Tensor& x);
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

struct BceOptions {
  Reduction reduction = Reduction::mean;
  double positive_weight = 1;  // PyTorch's pos_weight, one for all classes
};
/// Binary cross-entropy of sigmoid(logits) with targets in [0, 1], same shapes -> scalar. Stable
/// for any finite logits.
LOCKSTEP_API Tensor bce_with_logits(const Tensor& logits, const Tensor& targets,
                                    BceOptions options = {});

struct HuberOptions {
  Reduction reduction = Reduction::mean;
  double delta = 1;
};
/// d^2 / 2 where |d| <= delta, delta (|d| - delta / 2) beyond, of d = prediction - target, same
/// shapes -> scalar. @throws InvalidUsage unless delta > 0.
LOCKSTEP_API Tensor huber_loss(const Tensor& prediction, const Tensor& target,
                               HuberOptions options = {});

struct L1Options {
  Reduction reduction = Reduction::mean;
};
/// |prediction - target|, same shapes -> scalar. The derivative where they are equal is 0.
LOCKSTEP_API Tensor l1_loss(const Tensor& prediction, const Tensor& target, L1Options options = {});

struct MseOptions {
  Reduction reduction = Reduction::mean;
};
/// (prediction - target)^2, same shapes -> scalar.
LOCKSTEP_API Tensor mse_loss(const Tensor& prediction, const Tensor& target,
                             MseOptions options = {});

}  // namespace lockstep::inline v0
