// Element types of device memory: the order and values of lockstep::DType, so that a backend
// converts by a cast of the number.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep::kernels {

enum class Type : std::uint8_t { float32, float64, bfloat16, float16, int64, int32, uint8 };

/// 16-bit floats as bits. kernels/convert.cuh has their arithmetic.
struct Bfloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

template <class T>
struct Tag {
  using type = T;
};

/// body(Tag<float>{}) or body(Tag<double>{}); cudaErrorInvalidValue for any other type.
template <class Body>
cudaError_t with_float_type(Type type, const Body& body) {
  if (type == Type::float32) return body(Tag<float>{});
  if (type == Type::float64) return body(Tag<double>{});
  return cudaErrorInvalidValue;
}

/// body(Tag<T>{}) for the types whose elements are compared: float32, float64, int64 and int32;
/// cudaErrorInvalidValue for any other type.
template <class Body>
cudaError_t with_ordered_type(Type type, const Body& body) {
  if (type == Type::int64) return body(Tag<std::int64_t>{});
  if (type == Type::int32) return body(Tag<std::int32_t>{});
  return with_float_type(type, body);
}

/// body(Tag<T>{}) for any type.
template <class Body>
cudaError_t with_type(Type type, const Body& body) {
  switch (type) {
    case Type::float32:
      return body(Tag<float>{});
    case Type::float64:
      return body(Tag<double>{});
    case Type::bfloat16:
      return body(Tag<Bfloat16>{});
    case Type::float16:
      return body(Tag<Float16>{});
    case Type::int64:
      return body(Tag<std::int64_t>{});
    case Type::int32:
      return body(Tag<std::int32_t>{});
    case Type::uint8:
      return body(Tag<std::uint8_t>{});
  }
  return cudaErrorInvalidValue;
}

}  // namespace lockstep::kernels
