// sum and mean over all elements. dx = g, or g / n, in every place.
#include <limits>

#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class SumNode final : public Node {
 public:
  SumNode(const Tensor& result, const Tensor& x, double factor)
      : Node(result, {&x}), factor_(factor) {}
  const char* name() const noexcept override { return "sum"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0)) x->give(expand_scalar(gradient, factor_, x->shape()));
  }

 private:
  double factor_;
};

Tensor scaled_sum(const Tensor& x, double factor) {
  Tensor result = empty(Shape{}, x.dtype(), x.device());
  backend_of(x).reduction.sum(x.dtype(), x.raw_data(), 1, x.element_count(), 1, factor, false,
                              result.impl()->data(), queue_of(x));
  if (wants_tape({&x})) attach(result, make_pooled<SumNode>(result, x, factor));
  return result;
}

}  // namespace
}  // namespace detail

Tensor sum(const Tensor& x) {
  detail::check_computed(x, "sum");
  return detail::scaled_sum(x, 1.0);
}

Tensor mean(const Tensor& x) {
  detail::check_computed(x, "mean");
  const std::int64_t count = x.element_count();
  return detail::scaled_sum(
      x, count == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / static_cast<double>(count));
}

}  // namespace lockstep::inline v0
