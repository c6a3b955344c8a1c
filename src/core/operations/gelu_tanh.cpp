// gelu_tanh: y = x / 2 (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3); dx = y'(x) g.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class GeluTanhNode final : public Node {
 public:
  GeluTanhNode(const Tensor& result, const Tensor& x) : Node(result, {&x}), x_(x) {}
  const char* name() const noexcept override { return "gelu_tanh"; }
  void check_saved() const override { x_.check(name()); }
  void release_saved() noexcept override { x_.reset(); }
  void backward(const Tensor& gradient) override {
    GradientSlot* slot = input(0);
    if (slot == nullptr) return;
    const Tensor x = x_.value();
    Tensor result = empty(x.shape(), x.dtype(), x.device());
    backend_of(x).elementwise.gelu_tanh_backward(x.dtype(), x.raw_data(), gradient.raw_data(),
                                                 result.impl()->data(), x.element_count(),
                                                 queue_of(x));
    slot->give(std::move(result));
  }

 private:
  Saved x_;
};

}  // namespace
}  // namespace detail

Tensor gelu_tanh(const Tensor& x) {
  detail::check_computed(x, "gelu_tanh");
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  detail::backend_of(x).elementwise.gelu_tanh(x.dtype(), x.raw_data(), result.impl()->data(),
                                              x.element_count(), detail::queue_of(x));
  if (detail::wants_tape({&x}))
    attach(result, detail::make_pooled<detail::GeluTanhNode>(result, x));
  return result;
}

}  // namespace lockstep::inline v0
