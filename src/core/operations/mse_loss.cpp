// mse_loss: sum or mean of (a - b)^2; da = 2 (a - b) g (/ n), db = -da.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class MseNode final : public Node {
 public:
  MseNode(const Tensor& result, const Tensor& a, const Tensor& b, double factor)
      : Node(result, {&a, &b}), a_(a), b_(b), factor_(factor) {}
  const char* name() const noexcept override { return "mse_loss"; }
  void check_saved() const override {
    a_.check(name());
    b_.check(name());
  }
  void release_saved() noexcept override {
    a_.reset();
    b_.reset();
  }
  void backward(const Tensor& gradient) override {
    const Tensor a = a_.value();
    const Tensor b = b_.value();
    if (GradientSlot* slot = input(0)) slot->give(slope(a, b, gradient));
    if (GradientSlot* slot = input(1)) slot->give(slope(b, a, gradient));
  }

 private:
  Tensor slope(const Tensor& a, const Tensor& b, const Tensor& gradient) const {
    Tensor difference = empty(a.shape(), a.dtype(), a.device());
    backend_of(a).elementwise.scaled_difference(a.dtype(), a.raw_data(), b.raw_data(),
                                                2.0 * factor_, difference.impl()->data(),
                                                a.element_count(), queue_of(a));
    return broadcast_binary(backend::BinaryOperation::mul, difference, gradient, a.shape());
  }

  Saved a_;
  Saved b_;
  double factor_;
};

}  // namespace
}  // namespace detail

Tensor mse_loss(const Tensor& prediction, const Tensor& target, MseOptions options) {
  detail::check_alike(prediction, target, "mse_loss");
  if (!(prediction.shape() == target.shape())) detail::throw_shapes("mse_loss", prediction, target);
  const std::int64_t count = prediction.element_count();
  const double factor = detail::reduction_factor(options.reduction, count);
  Tensor result = empty(Shape{}, prediction.dtype(), prediction.device());
  detail::backend_of(prediction)
      .reduction.squared_difference(prediction.dtype(), prediction.raw_data(), target.raw_data(),
                                    count, factor, result.impl()->data(),
                                    detail::queue_of(prediction));
  if (detail::wants_tape({&prediction, &target}))
    attach(result, detail::make_pooled<detail::MseNode>(result, prediction, target, factor));
  return result;
}

}  // namespace lockstep::inline v0
