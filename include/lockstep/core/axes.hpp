// Operations along axes. A negative axis counts from the end. Results are copies, row-major. All
// throw ShapeError or InvalidUsage, which name the operation, the axis and the shape.
#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

/// The two axes exchanged. Every dtype; differentiable in those of floating point, as are permute,
/// slice, concatenate and stack.
LOCKSTEP_API Tensor transpose(const Tensor& x, int axis0, int axis1);
/// Axis i of the result is axis order[i] of x.
LOCKSTEP_API Tensor permute(const Tensor& x, const std::vector<int>& order);

/// Elements begin, begin + step, ... before end along an axis, as in Python: a negative begin or
/// end counts from the end of the axis, and what lies beyond the axis is left out.
/// @throws InvalidUsage unless step > 0
LOCKSTEP_API Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end,
                          std::int64_t step = 1);
/// One behind the other along an axis; their other sizes agree.
LOCKSTEP_API Tensor concatenate(const std::vector<Tensor>& tensors, int axis);
/// The same along a new axis, which becomes axis `axis` of the result; all sizes agree.
LOCKSTEP_API Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);

struct AxisOptions {
  bool keep = false;  // keep the axes, with one element each
};
/// Over the named axes, each once. The mean over no elements is NaN, the sum is 0.
LOCKSTEP_API Tensor sum(const Tensor& x, const std::vector<int>& axes, AxisOptions options = {});
LOCKSTEP_API Tensor mean(const Tensor& x, const std::vector<int>& axes, AxisOptions options = {});

/// The largest, or smallest, along one axis; a NaN wins. The gradient goes to the first of equals.
/// float32, float64, int64, int32. @throws InvalidUsage for an axis without elements
LOCKSTEP_API Tensor max(const Tensor& x, int axis, AxisOptions options = {});
LOCKSTEP_API Tensor min(const Tensor& x, int axis, AxisOptions options = {});
/// Its index -> int64; the first of equals. Not differentiable.
LOCKSTEP_API Tensor argmax(const Tensor& x, int axis = -1, AxisOptions options = {});
LOCKSTEP_API Tensor argmin(const Tensor& x, int axis = -1, AxisOptions options = {});

}  // namespace lockstep::inline v0
