// From a dtype at run time to a type.
#pragma once

#include <string>

#include <lockstep/core/dtype.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::backend::cpu {

template <class T>
struct Type {
  using type = T;
};

/// Calls body(Type<float>{}) or body(Type<double>{}). @throws InvalidUsage for any other dtype
template <class Body>
void with_float_type(const char* operation, DType dtype, const Body& body) {
  if (dtype == DType::float32) return body(Type<float>{});
  if (dtype == DType::float64) return body(Type<double>{});
  throw InvalidUsage(std::string("[cpu] ") + operation + " computes in float32 and float64, not " +
                     name(dtype) + "; convert with to(DType) first");
}

/// Calls body with the type of a dtype whose elements are compared: float32, float64, int64 or
/// int32. @throws InvalidUsage for any other dtype
template <class Body>
void with_ordered_type(const char* operation, DType dtype, const Body& body) {
  if (dtype == DType::int64) return body(Type<std::int64_t>{});
  if (dtype == DType::int32) return body(Type<std::int32_t>{});
  with_float_type(operation, dtype, body);
}

}  // namespace lockstep::inline v0::backend::cpu
