// What the operations along axes share.
#pragma once

#include <bitset>
#include <cstdint>

#include "core/operations/support.hpp"

namespace lockstep::inline v0::detail {

using backend::Extents;
using AxisSet = std::bitset<Shape::kMaxAxes>;

/// The axis counted from the front. @throws ShapeError naming operation, axis and shape
int checked_axis(const Shape& shape, int axis, const char* operation);
/// The shape as seen from one of its axes.
Extents extents_at(const Shape& shape, int axis);
/// With another size along one axis.
Shape with_size(const Shape& shape, int axis, std::int64_t size);
/// With one element along these axes, or without them.
Shape reduced_shape(const Shape& shape, AxisSet axes, bool keep);

/// Elements begin, begin + step, ... of the middle axis of an array.
struct Part {
  Extents whole;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};

/// part = those elements of whole. Not recorded.
void copy_out(const Part& place, const Tensor& whole, const Tensor& part);
/// Those elements of whole = part.
void copy_in(const Part& place, const Tensor& part, const Tensor& whole);

}  // namespace lockstep::inline v0::detail
