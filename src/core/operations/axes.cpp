#include "core/operations/axes.hpp"

#include <algorithm>
#include <utility>

#include "core/strided.hpp"

namespace lockstep::inline v0::detail {

int checked_axis(const Shape& shape, int axis, const char* operation) {
  const int index = axis < 0 ? axis + shape.axes() : axis;
  if (index < 0 || index >= shape.axes())
    throw ShapeError(std::string(operation) + ": axis " + std::to_string(axis) +
                     " is out of range for shape " + to_string(shape));
  return index;
}

Extents extents_at(const Shape& shape, int axis) {
  Extents extents{.extent = shape[axis]};
  for (int i = 0; i < axis; ++i) extents.outer *= shape[i];
  for (int i = axis + 1; i < shape.axes(); ++i) extents.inner *= shape[i];
  return extents;
}

Shape with_size(const Shape& shape, int axis, std::int64_t size) {
  Strides sizes{};
  std::copy(shape.sizes().begin(), shape.sizes().end(), sizes.begin());
  sizes[static_cast<std::size_t>(axis)] = size;
  return Shape(std::span<const std::int64_t>(sizes).first(shape.sizes().size()));
}

Shape reduced_shape(const Shape& shape, AxisSet axes, bool keep) {
  Strides sizes{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < shape.sizes().size(); ++i)
    if (!axes[i])
      sizes[count++] = shape.sizes()[i];
    else if (keep)
      sizes[count++] = 1;
  return Shape(std::span<const std::int64_t>(sizes).first(count));
}

namespace {

/// The part first, the whole second.
CommonAxes axes_of(const Part& place) {
  const auto& [outer, extent, inner] = place.whole;
  CommonAxes axes;
  axes.append(outer, place.count * inner, extent * inner);
  axes.append(place.count, inner, place.step * inner);
  axes.append(inner, 1, 1);
  return axes;
}

}  // namespace

void copy_out(const Part& place, const Tensor& whole, const Tensor& part) {
  CommonAxes axes = axes_of(place);
  std::swap(axes.a_strides, axes.b_strides);
  copy_strided(axes, whole, place.begin * place.whole.inner, part, 0);
}

void copy_in(const Part& place, const Tensor& part, const Tensor& whole) {
  copy_strided(axes_of(place), part, 0, whole, place.begin * place.whole.inner);
}

}  // namespace lockstep::inline v0::detail
