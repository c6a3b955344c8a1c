// The vector code of the CPU as tables of functions, one set per instruction set. The files in
// vector/ are compiled once per set; they may use nothing with external linkage that other files
// share (no std:: functions, no inline functions), or the linker could put AVX code where any
// x86-64 must be able to run. Plain data only, therefore, here too.
#pragma once

#include <cstdint>

#include "backend/coefficients.hpp"
#include "core/pair_loss.hpp"
#include "core/unary_operation.hpp"

namespace lockstep::inline v0::backend::cpu {

template <class T>
struct OptimizerKernels {
  void (*adam)(const AdamCoefficients<T>& with, T* values, const T* gradients, T* first_moment,
               T* second_moment, std::int64_t count);
  /// `momentum` is null where there is none.
  void (*sgd)(const SgdCoefficients<T>& with, T* values, const T* gradients, T* momentum,
              std::int64_t count);
};

template <class T>
struct ElementwiseKernels {
  /// In the order of BinaryOperation; strides in elements.
  void (*binary[4])(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* result,
                    std::int64_t count);
  void (*affine)(const T* x, T alpha, T beta, T* result, std::int64_t count);
  void (*add_scaled)(T alpha, const T* x, T* y, std::int64_t count);
  void (*scale)(T alpha, T* y, std::int64_t count);
  void (*scaled_difference)(const T* a, const T* b, T factor, T* result, std::int64_t count);
};

/// Arrays are indexed by UnaryOperation.
template <class T>
struct UnaryKernels {
  void (*forward[portable::kUnaryOperations])(const T* x, portable::UnaryNumbers<T> numbers,
                                              T* result, std::int64_t count);
  void (*backward[portable::kUnaryOperations])(const T* saved, const T* gradient,
                                               portable::UnaryNumbers<T> numbers, T* result,
                                               std::int64_t count);
};

/// Sums are added up in float64, in 16 lanes and a fixed tree.
template <class T>
struct ReductionKernels {
  double (*sum)(const T* x, std::int64_t count);
  double (*sum_of_squares)(const T* x, std::int64_t count);
  double (*squared_difference)(const T* a, const T* b, std::int64_t count);
  /// Columns [begin, end) of x (extent, inner): the sum over extent, to `sums[0 .. end - begin)`.
  void (*column_sums)(const T* x, std::int64_t extent, std::int64_t inner, std::int64_t begin,
                      std::int64_t end, double* sums);
};

template <class T>
struct LossKernels {
  /// Writes softmax and the largest logit; returns the sum of exp(logit - largest).
  double (*softmax_row)(const T* logits, std::int64_t classes, T* softmax, T* largest);
};

/// Rows that layer_norm_parameters takes at once.
inline constexpr std::int64_t kMostNormalizedRows = 8;

/// Rows with the statistics of their elements and the gradient of their normalization.
template <class T>
struct NormalizedRows {
  const T* x;
  const T* gradient;
  const T* weight;  // null: ones
  const double* statistics;
  std::int64_t columns;
};

/// Arrays are indexed by whether it is the logarithm of the softmax.
template <class T>
struct NormalizationKernels {
  void (*softmax_row[2])(const T* x, std::int64_t count, T* result);
  void (*softmax_row_backward[2])(const T* y, const T* gradient, std::int64_t count, T* result);
  /// Of `width` neighbouring columns, at most 16; the elements of a column are `inner` apart.
  void (*softmax_columns[2])(const T* x, std::int64_t extent, std::int64_t inner,
                             std::int64_t width, T* result);
  void (*softmax_columns_backward[2])(const T* y, const T* gradient, std::int64_t extent,
                                      std::int64_t inner, std::int64_t width, T* result);
  /// Writes mean and 1 / sqrt(variance + epsilon); weight and bias may be null.
  void (*layer_norm_row)(const T* x, const T* weight, const T* bias, std::int64_t count,
                         double epsilon, T* result, double* statistics);
  /// Of the first row.
  void (*layer_norm_row_backward)(const NormalizedRows<T>& row, T* result);
  /// Adds rows, at most kMostNormalizedRows, to the sums of each column.
  void (*layer_norm_parameters)(const NormalizedRows<T>& rows, std::int64_t row_count,
                                double* weight, double* bias);
};

/// Arrays are indexed by PairLossKind.
template <class T>
struct PairLossKernels {
  double (*value[portable::kPairLosses])(const T* x, const T* t, double number, std::int64_t count);
  /// The derivative by x [0] or by t [1], times scale.
  void (*slope[2][portable::kPairLosses])(const T* x, const T* t, T number, T scale, T* result,
                                          std::int64_t count);
};

/// Arrays are indexed by DType.
struct ConversionKernels {
  void (*cast[7][7])(const void* x, void* result, std::int64_t count);  // [from][to]
  void (*fold_sum[7])(const void* const* sources, int source_count, void* result,
                      std::int64_t begin, std::int64_t end);
  /// Null for dtypes that have none.
  void (*fold_minimum[7])(const void* const* sources, int source_count, void* result,
                          std::int64_t begin, std::int64_t end);
  void (*fold_maximum[7])(const void* const* sources, int source_count, void* result,
                          std::int64_t begin, std::int64_t end);
};

struct RandomPlace {
  std::uint64_t seed;
  std::uint64_t stream;
  std::uint64_t block;
};

template <class T>
struct UniformRange {
  T low;
  T width;
  T largest;  // what a result that rounds up to `high` becomes
};

template <class T>
struct RandomKernels {
  void (*uniform)(const RandomPlace& place, const UniformRange<T>& range, T* result,
                  std::int64_t count);
  void (*normal)(const RandomPlace& place, T* result, std::int64_t count);
  /// 1 where the word of the element is below the threshold (at most 2^32), else 0.
  void (*bernoulli)(const RandomPlace& place, std::uint64_t threshold, T* result,
                    std::int64_t count);
  /// factor * x where the word is below the threshold, else 0.
  void (*dropout)(const RandomPlace& place, std::uint64_t threshold, T factor, const T* x,
                  T* result, std::int64_t count);
};

struct ProductShape {
  bool transpose_a;
  bool transpose_b;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

/// Eigen's matrix products; these alone may give other bits in each variant.
template <class T>
struct EigenKernels {
  /// c = op(a) op(b) + beta * c; no extent is 0.
  void (*multiply)(const ProductShape& shape, const T* a, const T* b, T beta, T* c);
};

/// What depends on the element type, for float and double.
template <class T>
struct FloatKernels {
  const OptimizerKernels<T>* optimizer;
  const ElementwiseKernels<T>* elementwise;
  const UnaryKernels<T>* unary;
  const ReductionKernels<T>* reduction;
  const LossKernels<T>* loss;
  const NormalizationKernels<T>* normalization;
  const PairLossKernels<T>* pair_loss;
  const RandomKernels<T>* random;
  const EigenKernels<T>* eigen;
};

struct Kernels {
  const char* variant;
  FloatKernels<float> float32;
  FloatKernels<double> float64;
  const ConversionKernels* conversion;
};

}  // namespace lockstep::inline v0::backend::cpu
