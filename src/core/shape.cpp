#include <lockstep/core/error.hpp>
#include <lockstep/core/shape.hpp>

namespace lockstep::inline v0 {

namespace {

std::string text(std::span<const std::int64_t> sizes) {
  std::string result = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i)
    result += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return result + ")";
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) {
  if (sizes.size() > kMaxAxes)
    throw ShapeError("a shape has at most 8 axes; this one has " + std::to_string(sizes.size()));
  bool overflow = false;
  bool empty = false;
  for (std::int64_t size : sizes) {
    if (size < 0) throw ShapeError("a size is negative in shape " + text(sizes));
    empty = empty || size == 0;
    overflow = __builtin_mul_overflow(element_count_, size, &element_count_) || overflow;
    sizes_[static_cast<std::size_t>(axes_++)] = size;
  }
  if (empty) element_count_ = 0;
  // Bytes have to fit as well: no dtype has more than 8 per element.
  constexpr std::int64_t kMaxElements = INT64_MAX / 8;
  if ((overflow && !empty) || element_count_ > kMaxElements)
    throw ShapeError("the number of elements of shape " + text(sizes) + " overflows");
}

std::int64_t Shape::operator[](int axis) const {
  const int index = axis < 0 ? axis + axes_ : axis;
  if (index < 0 || index >= axes_)
    throw ShapeError("axis " + std::to_string(axis) + " is out of range for shape " +
                     to_string(*this));
  return sizes_[static_cast<std::size_t>(index)];
}

std::string to_string(const Shape& shape) { return text(shape.sizes()); }

}  // namespace lockstep::inline v0
