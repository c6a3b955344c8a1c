// Ways to make a tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

/// Uninitialized elements.
LOCKSTEP_API Tensor empty(const Shape& shape, DType dtype = DType::float32, Device device = {});
LOCKSTEP_API Tensor zeros(const Shape& shape, DType dtype = DType::float32, Device device = {});
LOCKSTEP_API Tensor full(const Shape& shape, double value, DType dtype = DType::float32,
                         Device device = {});
/// Copies `byte_size(dtype) * shape.element_count()` bytes from host memory.
LOCKSTEP_API Tensor from_host(const void* data, const Shape& shape, DType dtype,
                              Device device = {});

/// Copies host values. @throws ShapeError if their number is not the shape's.
LOCKSTEP_API Tensor tensor(std::span<const float> values, const Shape& shape, Device device = {});
LOCKSTEP_API Tensor tensor(std::span<const double> values, const Shape& shape, Device device = {});
LOCKSTEP_API Tensor tensor(std::span<const std::int64_t> values, const Shape& shape,
                           Device device = {});
LOCKSTEP_API Tensor tensor(std::span<const std::int32_t> values, const Shape& shape,
                           Device device = {});
LOCKSTEP_API Tensor tensor(std::span<const std::uint8_t> values, const Shape& shape,
                           Device device = {});
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape, Device device = {}) {
  return tensor(std::span<const T>(values), shape, device);
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const Shape& shape, Device device = {}) {
  return tensor(std::span<const T>(values.begin(), values.size()), shape, device);
}

/// Refers to memory of the program, row-major, without a copy. The memory must outlive every
/// handle, unless `owner` keeps it alive. Writes go to that memory. @throws InvalidUsage for a null
/// pointer with elements.
LOCKSTEP_API Tensor borrow(void* data, const Shape& shape, DType dtype, Device device = {},
                           std::shared_ptr<const void> owner = nullptr);
/// The same for memory that must not be written: mutable_data() throws.
LOCKSTEP_API Tensor borrow(const void* data, const Shape& shape, DType dtype, Device device = {},
                           std::shared_ptr<const void> owner = nullptr);
/// With strides in elements, one per axis, for reading. Row-major strides refer; any other make one
/// copy, named in the trace, which needs neither the memory nor its owner any more.
LOCKSTEP_API Tensor borrow(const void* data, const Shape& shape,
                           std::span<const std::int64_t> strides, DType dtype, Device device = {},
                           std::shared_ptr<const void> owner = nullptr);
template <class T>
requires requires { dtype_of<std::remove_const_t<T>>; }
Tensor borrow(T* data, const Shape& shape, Device device = {},
              std::shared_ptr<const void> owner = nullptr) {
  if constexpr (std::is_const_v<T>)
    return borrow(static_cast<const void*>(data), shape, dtype_of<std::remove_const_t<T>>, device,
                  std::move(owner));
  else
    return borrow(static_cast<void*>(data), shape, dtype_of<T>, device, std::move(owner));
}

}  // namespace lockstep::inline v0
