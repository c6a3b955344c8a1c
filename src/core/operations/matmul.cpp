// matmul: c = a b; da = g b^T, db = a^T g.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class MatmulNode final : public Node {
 public:
  MatmulNode(const Tensor& result, const Tensor& a, const Tensor& b) : Node(result, {&a, &b}) {
    if (input(0) != nullptr) b_ = Saved(b);
    if (input(1) != nullptr) a_ = Saved(a);
  }
  const char* name() const noexcept override { return "matmul"; }
  void check_saved() const override {
    a_.check(name());
    b_.check(name());
  }
  void release_saved() noexcept override {
    a_.reset();
    b_.reset();
  }
  void backward(const Tensor& gradient) override {
    const std::int64_t m = gradient.shape()[0];
    const std::int64_t n = gradient.shape()[1];
    if (GradientSlot* a = input(0)) {
      const Tensor b = b_.value();
      multiply({.transpose_b = true, .m = m, .n = b.shape()[0], .k = n}, gradient, b, *a);
    }
    if (GradientSlot* b = input(1)) {
      const Tensor a = a_.value();
      multiply({.transpose_a = true, .m = a.shape()[1], .n = n, .k = m}, a, gradient, *b);
    }
  }

 private:
  static void multiply(const backend::GemmShape& shape, const Tensor& left, const Tensor& right,
                       GradientSlot& slot) {
    auto [tensor, accumulate] = slot.destination();
    backend_of(left).gemm.multiply(left.dtype(), shape, left.raw_data(), right.raw_data(),
                                   accumulate ? 1.0 : 0.0, tensor.impl()->data(), queue_of(left));
  }

  Saved a_;
  Saved b_;
};

}  // namespace
}  // namespace detail

Tensor matmul(const Tensor& a, const Tensor& b) {
  detail::check_alike(a, b, "matmul");
  if (a.shape().axes() != 2 || b.shape().axes() != 2 || a.shape()[1] != b.shape()[0])
    detail::throw_shapes("matmul", a, b);
  const backend::GemmShape shape{.m = a.shape()[0], .n = b.shape()[1], .k = a.shape()[1]};
  Tensor result = empty(Shape{shape.m, shape.n}, a.dtype(), a.device());
  detail::backend_of(a).gemm.multiply(a.dtype(), shape, a.raw_data(), b.raw_data(), 0.0,
                                      result.impl()->data(), detail::queue_of(a));
  if (detail::wants_tape({&a, &b}))
    attach(result, detail::make_pooled<detail::MatmulNode>(result, a, b));
  return result;
}

}  // namespace lockstep::inline v0
