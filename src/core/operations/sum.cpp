// sum and mean over all elements or along axes. dx = g, or g / n, repeated along the axes.
#include <limits>
#include <utility>

#include <lockstep/core/axes.hpp>
#include <lockstep/core/operations.hpp>

#include "core/operations/axes.hpp"
#include "core/strided.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

/// The sums that lead from one shape to another to which it could be repeated back: one for each
/// run of neighbouring axes, from the front.
PoolVector<Extents> sums_between(const Shape& from, const Shape& to) {
  PoolVector<Extents> sums;
  std::int64_t outer = 1;
  bool within = false;
  for (int axis = 0; axis < from.axes(); ++axis) {
    const std::int64_t size = from[axis];
    if (size == 1) continue;
    const int own = axis - (from.axes() - to.axes());
    const bool summed = own < 0 || to[own] != size;
    if (summed && !within) sums.push_back({.outer = outer});
    const std::size_t before = sums.size() - (summed ? 1 : 0);
    for (std::size_t i = 0; i < before; ++i) sums[i].inner *= size;
    (summed ? sums.back().extent : outer) *= size;
    within = summed;
  }
  return sums;
}

Tensor summed(const Tensor& x, const Extents& size, double factor, const Shape& shape) {
  Tensor result = empty(shape, x.dtype(), x.device());
  backend_of(x).reduction.sum(x.dtype(), x.raw_data(), size.outer, size.extent, size.inner, factor,
                              false, result.impl()->data(), queue_of(x));
  return result;
}

class SumNode final : public Node {
 public:
  /// `kept`: the result's shape before axes were taken out.
  SumNode(const Tensor& result, const Tensor& x, const Shape& kept, double factor)
      : Node(result, {&x}), kept_(kept), factor_(factor) {}
  const char* name() const noexcept override { return "sum"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    GradientSlot* x = input(0);
    if (x == nullptr) return;
    Tensor scaled = make_tensor(gradient.impl()->storage, kept_, gradient.dtype());
    if (factor_ != 1) {
      scaled = empty(kept_, gradient.dtype(), gradient.device());
      backend_of(gradient).elementwise.affine(gradient.dtype(), gradient.raw_data(), factor_, 0.0,
                                              scaled.impl()->data(), gradient.element_count(),
                                              queue_of(gradient));
    }
    x->give(expand(scaled, x->shape()));
  }

 private:
  Shape kept_;
  double factor_;
};

Tensor recorded(Tensor result, const Tensor& x, const Shape& kept, double factor) {
  if (wants_tape({&x})) attach(result, detail::make_pooled<SumNode>(result, x, kept, factor));
  return result;
}

Tensor sum_of_all(const Tensor& x, double factor) {
  return recorded(summed(x, {.extent = x.element_count()}, factor, Shape{}), x, Shape{}, factor);
}

AxisSet axis_set(const Shape& shape, const std::vector<int>& axes, const char* operation) {
  if (axes.empty())
    throw InvalidUsage(std::string(operation) + ": no axes are named for shape " +
                       to_string(shape) + "; without the list it is over all elements");
  AxisSet set;
  for (const int axis : axes) {
    const auto index = static_cast<std::size_t>(checked_axis(shape, axis, operation));
    if (set[index])
      throw InvalidUsage(std::string(operation) + ": axis " + std::to_string(axis) +
                         " is named twice for shape " + to_string(shape));
    set.set(index);
  }
  return set;
}

Tensor sum_along(const Tensor& x, AxisSet axes, bool keep, double factor) {
  const Shape kept = reduced_shape(x.shape(), axes, true);
  Tensor sums = reduce_to(x, kept, factor);
  if (sums.impl()->storage == x.impl()->storage) sums = x.detach().clone();
  Tensor result =
      make_tensor(sums.impl()->storage, reduced_shape(x.shape(), axes, keep), x.dtype());
  return recorded(std::move(result), x, kept, factor);
}

double mean_factor(std::int64_t count) {
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / static_cast<double>(count);
}

}  // namespace

Tensor reduce_to(const Tensor& gradient, const Shape& shape, double factor) {
  if (gradient.shape() == shape) return gradient;
  Tensor current = gradient;
  const PoolVector<Extents> sums = sums_between(gradient.shape(), shape);
  for (std::size_t i = 0; i < sums.size(); ++i)
    current = summed(current, sums[i], i + 1 == sums.size() ? factor : 1.0,
                     Shape{sums[i].outer, sums[i].inner});
  return make_tensor(current.impl()->storage, shape, gradient.dtype());
}

}  // namespace detail

Tensor sum(const Tensor& x) {
  detail::check_computed(x, "sum");
  return detail::sum_of_all(x, 1.0);
}

Tensor mean(const Tensor& x) {
  detail::check_computed(x, "mean");
  return detail::sum_of_all(x, detail::mean_factor(x.element_count()));
}

Tensor sum(const Tensor& x, const std::vector<int>& axes, AxisOptions options) {
  detail::check_computed(x, "sum");
  return detail::sum_along(x, detail::axis_set(x.shape(), axes, "sum"), options.keep, 1.0);
}

Tensor mean(const Tensor& x, const std::vector<int>& axes, AxisOptions options) {
  detail::check_computed(x, "mean");
  const detail::AxisSet set = detail::axis_set(x.shape(), axes, "mean");
  std::int64_t count = 1;
  for (std::size_t i = 0; i < x.shape().sizes().size(); ++i)
    if (set[i]) count *= x.shape().sizes()[i];
  return detail::sum_along(x, set, options.keep, detail::mean_factor(count));
}

}  // namespace lockstep::inline v0
