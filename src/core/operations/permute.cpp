// transpose and permute: axes in another order; dx = g with the axes in their old order.
#include <numeric>
#include <utility>

#include <lockstep/core/axes.hpp>

#include "core/operations/axes.hpp"
#include "core/strided.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

using Order = std::array<int, Shape::kMaxAxes>;

Tensor permuted(const Tensor& x, const Order& order) {
  const Shape& shape = x.shape();
  const auto count = static_cast<std::size_t>(shape.axes());
  Strides sizes{};
  for (std::size_t i = 0; i < count; ++i) sizes[i] = shape[order[i]];
  Tensor result =
      empty(Shape(std::span<const std::int64_t>(sizes).first(count)), x.dtype(), x.device());
  const Strides from = aligned_strides(shape, shape.axes());
  const Strides to = aligned_strides(result.shape(), shape.axes());
  CommonAxes axes;
  for (std::size_t i = 0; i < count; ++i)
    axes.append(sizes[i], from[static_cast<std::size_t>(order[i])], to[i]);
  copy_strided(axes, x, 0, result, 0);
  return result;
}

class PermuteNode final : public Node {
 public:
  PermuteNode(const Tensor& result, const Tensor& x, const Order& order)
      : Node(result, {&x}), order_(order) {}
  const char* name() const noexcept override { return "permute"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    GradientSlot* x = input(0);
    if (x == nullptr) return;
    Order inverse{};
    for (int i = 0; i < gradient.shape().axes(); ++i)
      inverse[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])] = i;
    x->give(permuted(gradient, inverse));
  }

 private:
  Order order_;
};

Tensor recorded_permute(const Tensor& x, const Order& order) {
  Tensor result = permuted(x, order);
  if (wants_tape({&x})) attach(result, detail::make_pooled<PermuteNode>(result, x, order));
  return result;
}

}  // namespace
}  // namespace detail

Tensor transpose(const Tensor& x, int axis0, int axis1) {
  const Shape& shape = detail::checked(x, "transpose").shape;
  detail::Order order{};
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(detail::checked_axis(shape, axis0, "transpose"))],
            order[static_cast<std::size_t>(detail::checked_axis(shape, axis1, "transpose"))]);
  return detail::recorded_permute(x, order);
}

Tensor permute(const Tensor& x, const std::vector<int>& given) {
  const Shape& shape = detail::checked(x, "permute").shape;
  if (given.size() != shape.sizes().size())
    throw ShapeError("permute: " + std::to_string(given.size()) + " axes are named for shape " +
                     to_string(shape));
  detail::Order order{};
  detail::AxisSet seen;
  for (std::size_t i = 0; i < given.size(); ++i) {
    order[i] = detail::checked_axis(shape, given[i], "permute");
    seen.set(static_cast<std::size_t>(order[i]));
  }
  if (seen.count() != given.size())
    throw InvalidUsage("permute: an axis is named twice for shape " + to_string(shape));
  return detail::recorded_permute(x, order);
}

}  // namespace lockstep::inline v0
