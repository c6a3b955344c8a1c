// Backend family: matrix products, row-major, float32 and float64. Sizes of 0 are legal (k = 0
// gives beta * c; beta = 0 never reads c).
#pragma once

#include <compare>
#include <cstdint>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

/// c (m, n) = op(a) (m, k) * op(b) (k, n) + beta * c, with tight rows (the leading dimension is the
/// number of columns in memory). In a batch the next c begins where one ends.
struct GemmShape {
  friend auto operator<=>(const GemmShape&, const GemmShape&) = default;

  bool transpose_a = false;  // a lies in memory as (k, m)
  bool transpose_b = false;  // b lies in memory as (n, k)
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;     // products
  std::int64_t a_stride = 0;  // elements from one a of the batch to the next; 0: all have the same
  std::int64_t b_stride = 0;
};

struct LinearShape {
  std::int64_t rows = 1;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

struct LinearGradients {
  const void* gradient = nullptr;  // (rows, out), of the result
  const void* x = nullptr;         // (rows, in)
  void* weight = nullptr;          // (out, in)
  bool accumulate_weight = false;  // add to what is there
  void* bias = nullptr;            // (out), or null
  bool accumulate_bias = false;
};

class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual void multiply(DType dtype, const GemmShape& shape, const void* a, const void* b,
                        double beta, void* c, Queue queue) = 0;
  /// y (rows, out) = x (rows, in) * weight (out, in)^T + bias (out, may be null).
  virtual void linear(DType dtype, std::int64_t rows, std::int64_t in, std::int64_t out,
                      const void* x, const void* weight, const void* bias, void* y,
                      Queue queue) = 0;
  /// weight = gradient^T x and bias = the sum of gradient over its rows (as Reduction::sum).
  virtual void linear_gradients(DType dtype, const LinearShape& shape,
                                const LinearGradients& operands, Queue queue) = 0;
};

}  // namespace lockstep::inline v0::backend
