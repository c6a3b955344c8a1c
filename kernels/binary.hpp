// Sum, difference, product and quotient of two arrays with broadcasting. float32 and float64; the
// same bits as on the CPU.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

enum class BinaryOperation : std::uint8_t { add, sub, mul, div };

/// Extents of the result and, per operand, strides in elements (0 where the operand is repeated).
/// The caller has merged axes where it could; a plain elementwise operation is one axis with
/// strides 1, 1. No axis: one element.
struct Broadcast {
  static constexpr int kMaxAxes = 8;
  int axes = 0;
  std::int64_t sizes[kMaxAxes] = {};
  std::int64_t a_strides[kMaxAxes] = {};
  std::int64_t b_strides[kMaxAxes] = {};
};

/// The result may be an operand that is not repeated.
cudaError_t binary(BinaryOperation operation, Type type, const Broadcast& broadcast, const void* a,
                   const void* b, void* result, cudaStream_t stream);

}  // namespace lockstep::kernels
