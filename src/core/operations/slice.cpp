// slice: elements begin, begin + step, ... along an axis; dx = g there, 0 elsewhere.
#include <algorithm>
#include <utility>

#include <lockstep/core/axes.hpp>

#include "core/operations/axes.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class SliceNode final : public Node {
 public:
  SliceNode(const Tensor& result, const Tensor& x, const Part& place)
      : Node(result, {&x}), place_(place) {}
  const char* name() const noexcept override { return "slice"; }
  void release_saved() noexcept override {}
  /// Many slices of one value cost as much as they are long: only the first of them to arrive
  /// fills the whole gradient.
  void backward(const Tensor& gradient) override {
    GradientSlot* x = input(0);
    if (x == nullptr) return;
    const auto [whole, accumulate] = x->destination();
    if (accumulate) {
      Tensor sum = empty(gradient.shape(), gradient.dtype(), gradient.device());
      copy_out(place_, whole, sum);
      add_to(gradient, sum);
      copy_in(place_, sum, whole);
      return;
    }
    backend_of(whole).memory.set_zero(whole.impl()->data(), whole.byte_count(), queue_of(whole));
    copy_in(place_, gradient, whole);
  }

 private:
  Part place_;
};

std::int64_t clamped(std::int64_t index, std::int64_t extent) {
  return std::clamp(index < 0 ? index + extent : index, std::int64_t{0}, extent);
}

}  // namespace
}  // namespace detail

Tensor slice(const Tensor& x, int given_axis, std::int64_t given_begin, std::int64_t given_end,
             std::int64_t step) {
  const Shape& shape = detail::checked(x, "slice").shape;
  const int axis = detail::checked_axis(shape, given_axis, "slice");
  if (step < 1)
    throw InvalidUsage("slice: the step along axis " + std::to_string(axis) + " of shape " +
                       to_string(shape) + " is " + std::to_string(step) + "; it must be positive");
  const std::int64_t begin = detail::clamped(given_begin, shape[axis]);
  const std::int64_t end = detail::clamped(given_end, shape[axis]);
  const detail::Part place{.whole = detail::extents_at(shape, axis),
                           .begin = begin,
                           .count = begin < end ? (end - begin - 1) / step + 1 : 0,
                           .step = step};
  Tensor result = empty(detail::with_size(shape, axis, place.count), x.dtype(), x.device());
  detail::copy_out(place, x, result);
  if (detail::wants_tape({&x}))
    attach(result, detail::make_pooled<detail::SliceNode>(result, x, place));
  return result;
}

}  // namespace lockstep::inline v0
