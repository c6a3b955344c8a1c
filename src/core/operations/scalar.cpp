// alpha * x + beta with numbers of the program. d = alpha g.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

Tensor affine(const Tensor& x, double alpha, double beta) {
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  backend_of(x).elementwise.affine(x.dtype(), x.raw_data(), alpha, beta, result.impl()->data(),
                                   x.element_count(), queue_of(x));
  return result;
}

class AffineNode final : public Node {
 public:
  AffineNode(const Tensor& result, const Tensor& x, double alpha)
      : Node(result, {&x}), alpha_(alpha) {}
  const char* name() const noexcept override { return "arithmetic with a number"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0)) x->give(alpha_ == 1 ? gradient : affine(gradient, alpha_, 0));
  }

 private:
  double alpha_;
};

Tensor recorded_affine(const Tensor& x, double alpha, double beta, const char* operation) {
  check_computed(x, operation);
  Tensor result = affine(x, alpha, beta);
  if (wants_tape({&x})) attach(result, make_pooled<AffineNode>(result, x, alpha));
  return result;
}

}  // namespace
}  // namespace detail

Tensor add(const Tensor& a, double b) { return detail::recorded_affine(a, 1, b, "add"); }
Tensor mul(const Tensor& a, double b) { return detail::recorded_affine(a, b, 0, "mul"); }

}  // namespace lockstep::inline v0
