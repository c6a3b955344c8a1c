// argmax along the last axis. Not differentiable.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

Tensor argmax(const Tensor& x) {
  detail::check_computed(x, "argmax");
  const Shape& shape = x.shape();
  if (shape.axes() < 1) throw ShapeError("argmax: at least one axis is needed");
  const std::int64_t columns = shape[-1];
  const Shape rows_shape(shape.sizes().first(static_cast<std::size_t>(shape.axes() - 1)));
  if (columns == 0 && rows_shape.element_count() > 0)
    throw ShapeError("argmax: no elements along the last axis of " + to_string(shape));
  Tensor result = empty(rows_shape, DType::int64, x.device());
  if (result.element_count() > 0)
    detail::backend_of(x).reduction.argmax(x.dtype(), x.raw_data(), result.element_count(), columns,
                                           static_cast<std::int64_t*>(result.impl()->data()),
                                           detail::queue_of(x));
  return result;
}

}  // namespace lockstep::inline v0
