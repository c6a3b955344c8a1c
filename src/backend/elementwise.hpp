// Backend family: elementwise arithmetic. float32 and float64 unless said otherwise; counts are
// elements; any count, 0 included.
#pragma once

#include <array>
#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"
#include "core/unary_operation.hpp"

namespace lockstep::inline v0::backend {

enum class BinaryOperation : std::uint8_t { add, sub, mul, div };
using portable::UnaryNumbers;
using portable::UnaryOperation;

/// A broadcast: extents of the result and, per operand, strides in elements (0 where the operand is
/// repeated). The caller has merged axes where it could; a plain elementwise operation is one axis
/// with strides 1, 1.
struct Broadcast {
  static constexpr int kMaxAxes = 8;
  int axes = 0;
  std::array<std::int64_t, kMaxAxes> sizes{};
  std::array<std::int64_t, kMaxAxes> a_strides{};
  std::array<std::int64_t, kMaxAxes> b_strides{};
};

class Elementwise {
 public:
  virtual ~Elementwise() = default;
  virtual void binary(BinaryOperation operation, DType dtype, const Broadcast& broadcast,
                      const void* a, const void* b, void* result, Queue queue) = 0;
  /// result = alpha * x + beta; beta alone where alpha is 0 would still read x.
  virtual void affine(DType dtype, const void* x, double alpha, double beta, void* result,
                      std::int64_t count, Queue queue) = 0;
  /// y += alpha * x.
  virtual void add_scaled(DType dtype, double alpha, const void* x, void* y, std::int64_t count,
                          Queue queue) = 0;
  /// y *= alpha.
  virtual void scale(DType dtype, double alpha, void* y, std::int64_t count, Queue queue) = 0;
  /// Every dtype.
  virtual void fill(DType dtype, double value, void* result, std::int64_t count, Queue queue) = 0;
  /// result = f(x), for the f of src/core/unary_functions.hpp.
  virtual void unary(UnaryOperation operation, DType dtype, const void* x,
                     const UnaryNumbers<double>& numbers, void* result, std::int64_t count,
                     Queue queue) = 0;
  /// result = gradient times the derivative, from x or from the result of `unary`, as the f says.
  virtual void unary_backward(UnaryOperation operation, DType dtype, const void* saved,
                              const void* gradient, const UnaryNumbers<double>& numbers,
                              void* result, std::int64_t count, Queue queue) = 0;
  /// result = factor * (a - b).
  virtual void scaled_difference(DType dtype, const void* a, const void* b, double factor,
                                 void* result, std::int64_t count, Queue queue) = 0;
  /// Between any two dtypes; rounds once, to nearest even, NaN stays NaN (quiet). Float to integer
  /// truncates, saturates beyond the range, and gives 0 for NaN; integer to integer wraps.
  virtual void cast(DType from, const void* x, DType to, void* result, std::int64_t count,
                    Queue queue) = 0;
  /// result[i] = sources[0][i] + sources[1][i] + ... in this order; float16 and bfloat16 are added
  /// in float32 and rounded once. Every dtype (integers wrap). result may be one of the sources.
  virtual void fold_sum(DType dtype, const void* const* sources, int source_count, void* result,
                        std::int64_t count, Queue queue) = 0;
  /// The same with minimum or maximum (float32, float64, int64, int32); NaN wins.
  virtual void fold_extreme(DType dtype, bool maximum, const void* const* sources, int source_count,
                            void* result, std::int64_t count, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
