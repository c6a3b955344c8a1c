// relu: y = max(x, 0); dx = y > 0 ? g : 0. A NaN passes both ways.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class ReluNode final : public Node {
 public:
  ReluNode(const Tensor& result, const Tensor& x) : Node(result, {&x}), y_(result) {}
  const char* name() const noexcept override { return "relu"; }
  void check_saved() const override { y_.check(name()); }
  void release_saved() noexcept override { y_.reset(); }
  void backward(const Tensor& gradient) override {
    GradientSlot* x = input(0);
    if (x == nullptr) return;
    const Tensor y = y_.value();
    Tensor result = empty(y.shape(), y.dtype(), y.device());
    backend_of(y).elementwise.relu_backward(y.dtype(), y.raw_data(), gradient.raw_data(),
                                            result.impl()->data(), y.element_count(), queue_of(y));
    x->give(std::move(result));
  }

 private:
  Saved y_;
};

}  // namespace
}  // namespace detail

Tensor relu(const Tensor& x) {
  detail::check_computed(x, "relu");
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  detail::backend_of(x).elementwise.relu(x.dtype(), x.raw_data(), result.impl()->data(),
                                         x.element_count(), detail::queue_of(x));
  if (detail::wants_tape({&x})) attach(result, detail::make_pooled<detail::ReluNode>(result, x));
  return result;
}

}  // namespace lockstep::inline v0
