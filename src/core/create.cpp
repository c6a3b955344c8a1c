#include <lockstep/core/create.hpp>

#include <string>
#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/core/trace.hpp>

#include "core/strided.hpp"
#include "core/tensor_impl.hpp"

namespace lockstep::inline v0 {

namespace {

Tensor refer(void* data, const Shape& shape, DType dtype, Device device, bool read_only,
             std::shared_ptr<const void> owner) {
  if (data == nullptr && shape.element_count() > 0)
    throw InvalidUsage("borrow: a null pointer for " + to_string(shape));
  auto storage =
      detail::part_of(data, shape.element_count() * byte_size(dtype), device, std::move(owner));
  storage->borrowed = true;
  storage->read_only = read_only;
  return detail::make_tensor(std::move(storage), shape, dtype);
}

template <class T>
Tensor copied(std::span<const T> values, const Shape& shape, Device device) {
  if (static_cast<std::int64_t>(values.size()) != shape.element_count())
    throw ShapeError("tensor: " + std::to_string(values.size()) + " values for shape " +
                     to_string(shape));
  return from_host(values.data(), shape, dtype_of<T>, device);
}

bool row_major(const Shape& shape, std::span<const std::int64_t> strides) {
  std::int64_t expected = 1;
  for (int axis = shape.axes() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[static_cast<std::size_t>(axis)] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

/// Copies strided host memory into a row-major tensor.
Tensor gather(const void* data, const Shape& shape, std::span<const std::int64_t> strides,
              DType dtype) {
  Tensor result = empty(shape, dtype);
  const detail::TraceSpan span("copy", "borrow with strides", result.byte_count());
  const detail::Strides row_major = detail::aligned_strides(shape, shape.axes());
  detail::CommonAxes axes;
  for (std::size_t i = 0; i < strides.size(); ++i)
    axes.append(shape.sizes()[i], strides[i], row_major[i]);
  detail::copy_strided(axes, borrow(data, shape, dtype), 0, result, 0);
  return result;
}

}  // namespace

Tensor empty(const Shape& shape, DType dtype, Device device) {
  return detail::make_tensor(
      detail::allocate_storage(shape.element_count() * byte_size(dtype), device), shape, dtype);
}

Tensor zeros(const Shape& shape, DType dtype, Device device) {
  Tensor result = empty(shape, dtype, device);
  detail::backend_of(result).memory.set_zero(result.impl()->data(), result.byte_count(),
                                             detail::queue_of(result));
  return result;
}

Tensor full(const Shape& shape, double value, DType dtype, Device device) {
  Tensor result = empty(shape, dtype, device);
  result.fill(value);
  return result;
}

Tensor from_host(const void* data, const Shape& shape, DType dtype, Device device) {
  Tensor result = empty(shape, dtype, device);
  detail::backend_of(result).memory.copy_from_host(result.impl()->data(), data, result.byte_count(),
                                                   detail::queue_of(result));
  return result;
}

Tensor tensor(std::span<const float> values, const Shape& shape, Device device) {
  return copied(values, shape, device);
}
Tensor tensor(std::span<const double> values, const Shape& shape, Device device) {
  return copied(values, shape, device);
}
Tensor tensor(std::span<const std::int64_t> values, const Shape& shape, Device device) {
  return copied(values, shape, device);
}
Tensor tensor(std::span<const std::int32_t> values, const Shape& shape, Device device) {
  return copied(values, shape, device);
}
Tensor tensor(std::span<const std::uint8_t> values, const Shape& shape, Device device) {
  return copied(values, shape, device);
}

Tensor borrow(void* data, const Shape& shape, DType dtype, Device device,
              std::shared_ptr<const void> owner) {
  return refer(data, shape, dtype, device, false, std::move(owner));
}

Tensor borrow(const void* data, const Shape& shape, DType dtype, Device device,
              std::shared_ptr<const void> owner) {
  return refer(const_cast<void*>(data), shape, dtype, device, true, std::move(owner));
}

Tensor borrow(const void* data, const Shape& shape, std::span<const std::int64_t> strides,
              DType dtype, Device device, std::shared_ptr<const void> owner) {
  if (static_cast<int>(strides.size()) != shape.axes())
    throw ShapeError("borrow: " + std::to_string(strides.size()) + " strides for shape " +
                     to_string(shape));
  if (shape.element_count() == 0 || row_major(shape, strides))
    return borrow(data, shape, dtype, device, std::move(owner));
  if (data == nullptr) throw InvalidUsage("borrow: a null pointer for " + to_string(shape));
  if (device.kind != DeviceKind::cpu)
    throw InvalidUsage("borrow: strides other than row-major are for host memory; this is on " +
                       to_string(device));
  return gather(data, shape, strides, dtype);
}

}  // namespace lockstep::inline v0
