// Strides of row-major shapes, and copies between arrays of the same sizes and different strides.
#pragma once

#include <array>
#include <cstdint>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0::detail {

using Strides = std::array<std::int64_t, Shape::kMaxAxes>;

/// Row-major strides of `shape` aligned at the end of a result with `axes` axes; 0 where it is
/// repeated.
Strides aligned_strides(const Shape& shape, int axes);

/// Axes of two arrays of the same sizes, the outermost first, with strides in elements.
struct CommonAxes {
  int axes = 0;
  Strides sizes{};
  Strides a_strides{};
  Strides b_strides{};

  /// The next inner axis. Left out if it has one element; becomes a part of the axis before where
  /// both arrays go on from one to the other.
  void append(std::int64_t size, std::int64_t a_stride, std::int64_t b_stride);
};

/// b = a along the axes, from those elements on. Not recorded.
void copy_strided(const CommonAxes& axes, const Tensor& a, std::int64_t a_begin, const Tensor& b,
                  std::int64_t b_begin);

/// The value repeated along axes of size 1, and along missing ones in front. Not recorded.
Tensor expand(const Tensor& x, const Shape& shape);

}  // namespace lockstep::inline v0::detail
