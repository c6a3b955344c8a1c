// What the operations share: checks and broadcasting.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>

#include "core/tape.hpp"
#include "core/tensor_impl.hpp"

namespace lockstep::inline v0::detail {

/// @throws InvalidUsage unless the tensor is float32 or float64.
inline void check_computed(const Tensor& x, const char* operation) {
  const DType dtype = checked(x, operation).dtype;
  if (dtype != DType::float32 && dtype != DType::float64)
    throw InvalidUsage(std::string(operation) + " computes float32 and float64; this is " +
                       name(dtype) + "; convert with to()");
}

/// @throws InvalidUsage unless dtype and device agree.
inline void check_same_kind(const Tensor& a, const Tensor& b, const char* operation) {
  if (a.dtype() != b.dtype())
    throw InvalidUsage(std::string(operation) + ": " + describe(a) + " and " + describe(b) +
                       " differ in dtype; convert one with to()");
  if (!(a.device() == b.device()))
    throw InvalidUsage(std::string(operation) + ": one operand is on " + to_string(a.device()) +
                       ", the other on " + to_string(b.device()));
}

/// @throws InvalidUsage unless both are float32, or float64, on one device.
inline void check_alike(const Tensor& a, const Tensor& b, const char* operation) {
  check_computed(a, operation);
  check_computed(b, operation);
  check_same_kind(a, b, operation);
}

[[noreturn]] inline void throw_shapes(const char* operation, const Tensor& a, const Tensor& b) {
  throw ShapeError(std::string(operation) + ": shapes " + to_string(a.shape()) + " and " +
                   to_string(b.shape()) + " do not fit");
}

/// The shape that both can be repeated to, if there is one.
std::optional<Shape> common_shape(const Shape& a, const Shape& b);
/// What the sum of a loss is multiplied by. The mean of nothing is NaN.
inline double reduction_factor(Reduction reduction, std::int64_t count) {
  if (reduction == Reduction::sum) return 1;
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / static_cast<double>(count);
}

/// The common shape of two operands. @throws ShapeError naming both.
Shape broadcast_shape(const Tensor& a, const Tensor& b, const char* operation);
/// a operation b over the broadcast shape, not recorded.
Tensor broadcast_binary(backend::BinaryOperation operation, const Tensor& a, const Tensor& b,
                        const Shape& result);
/// Adds up a gradient over the axes along which a value of `shape` was repeated, times factor. The
/// same data if there are none.
Tensor reduce_to(const Tensor& gradient, const Shape& shape, double factor = 1.0);

}  // namespace lockstep::inline v0::detail
