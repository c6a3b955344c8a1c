// The extents of a tensor: up to 8 axes, row-major, sizes are std::int64_t.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0 {

class LOCKSTEP_API Shape {
 public:
  static constexpr int kMaxAxes = 8;

  /// A scalar: no axes, one element.
  Shape() = default;
  /// @throws ShapeError for a negative size, more than 8 axes, or a product beyond std::int64_t.
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);

  int axes() const noexcept { return axes_; }
  /// Size along an axis; negative axes count from the end. @throws ShapeError out of range.
  std::int64_t operator[](int axis) const;
  std::int64_t element_count() const noexcept { return element_count_; }
  std::span<const std::int64_t> sizes() const noexcept {
    return {sizes_.data(), static_cast<std::size_t>(axes_)};
  }
  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    return a.axes_ == b.axes_ && a.sizes_ == b.sizes_;
  }

 private:
  std::array<std::int64_t, kMaxAxes> sizes_{};
  int axes_ = 0;
  std::int64_t element_count_ = 1;
};

/// "(32, 1000)".
LOCKSTEP_API std::string to_string(const Shape& shape);

}  // namespace lockstep::inline v0
