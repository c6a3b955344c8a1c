// softmax: y = exp(x) / sum of exp(x); dx = y (g - sum of y g).
// log_softmax: y = x - log of the sum of exp(x); dx = g - exp(y) times the sum of g.
#include <lockstep/core/rows.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class SoftmaxNode final : public Node {
 public:
  SoftmaxNode(const Tensor& result, const backend::SoftmaxShape& shape, const Tensor& x)
      : Node(result, {&x}), shape_(shape), y_(result) {}
  const char* name() const noexcept override {
    return shape_.logarithm ? "log_softmax" : "softmax";
  }
  void check_saved() const override { y_.check(name()); }
  void release_saved() noexcept override { y_.reset(); }
  void backward(const Tensor& gradient) override {
    GradientSlot* x = input(0);
    if (x == nullptr) return;
    const Tensor y = y_.value();
    Tensor result = empty(y.shape(), y.dtype(), y.device());
    backend_of(y).normalization.softmax_backward(
        y.dtype(), shape_, y.raw_data(), gradient.raw_data(), result.impl()->data(), queue_of(y));
    x->give(std::move(result));
  }

 private:
  backend::SoftmaxShape shape_;
  Saved y_;
};

backend::SoftmaxShape shape_along(const Shape& shape, int axis, bool logarithm) {
  backend::SoftmaxShape result{.logarithm = logarithm};
  if (shape.axes() == 0 && (axis == 0 || axis == -1)) return result;  // PyTorch's reading too
  result.extent = shape[axis];
  const int place = axis < 0 ? axis + shape.axes() : axis;
  for (int before = 0; before < place; ++before) result.outer *= shape[before];
  for (int behind = place + 1; behind < shape.axes(); ++behind) result.inner *= shape[behind];
  return result;
}

Tensor softmax_along(const Tensor& x, int axis, bool logarithm) {
  check_computed(x, logarithm ? "log_softmax" : "softmax");
  const backend::SoftmaxShape shape = shape_along(x.shape(), axis, logarithm);
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  backend_of(x).normalization.softmax(x.dtype(), shape, x.raw_data(), result.impl()->data(),
                                      queue_of(x));
  if (wants_tape({&x})) attach(result, detail::make_pooled<SoftmaxNode>(result, shape, x));
  return result;
}

}  // namespace
}  // namespace detail

Tensor softmax(const Tensor& x, int axis) { return detail::softmax_along(x, axis, false); }

Tensor log_softmax(const Tensor& x, int axis) { return detail::softmax_along(x, axis, true); }

}  // namespace lockstep::inline v0
