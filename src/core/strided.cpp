#include "core/strided.hpp"

#include <cstddef>

#include <lockstep/core/create.hpp>

#include "core/tensor_impl.hpp"

namespace lockstep::inline v0::detail {

Strides aligned_strides(const Shape& shape, int axes) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int i = 1; i <= shape.axes(); ++i) {
    strides[static_cast<std::size_t>(axes - i)] = shape[-i] == 1 ? 0 : stride;
    stride *= shape[-i];
  }
  return strides;
}

void CommonAxes::append(std::int64_t size, std::int64_t a_stride, std::int64_t b_stride) {
  if (size == 1) return;
  const auto last = static_cast<std::size_t>(axes - 1);
  if (axes > 0 && a_strides[last] == a_stride * size && b_strides[last] == b_stride * size) {
    sizes[last] *= size;
    a_strides[last] = a_stride;
    b_strides[last] = b_stride;
    return;
  }
  const auto next = static_cast<std::size_t>(axes++);
  sizes[next] = size;
  a_strides[next] = a_stride;
  b_strides[next] = b_stride;
}

void copy_strided(const CommonAxes& axes, const Tensor& a, std::int64_t a_begin, const Tensor& b,
                  std::int64_t b_begin) {
  for (int axis = 0; axis < axes.axes; ++axis)
    if (axes.sizes[static_cast<std::size_t>(axis)] == 0) return;
  const std::int64_t element = byte_size(a.dtype());
  backend_of(a).memory.copy_strided(
      static_cast<std::byte*>(b.impl()->data()) + b_begin * element,
      static_cast<const std::byte*>(a.raw_data()) + a_begin * element, element,
      {axes.axes, axes.sizes, axes.a_strides, axes.b_strides}, queue_of(a));
}

Tensor expand(const Tensor& x, const Shape& shape) {
  Tensor result = empty(shape, x.dtype(), x.device());
  const Strides from = aligned_strides(x.shape(), shape.axes());
  const Strides to = aligned_strides(shape, shape.axes());
  CommonAxes axes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.axes()); ++i)
    axes.append(shape.sizes()[i], from[i], to[i]);
  copy_strided(axes, x, 0, result, 0);
  return result;
}

}  // namespace lockstep::inline v0::detail
