// linear: y = x weight^T + bias; dx = g weight, dweight = g^T x, dbias = sum of g over rows.
// Leading axes of x are rows.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

using backend::LinearShape;

class LinearNode final : public Node {
 public:
  LinearNode(const Tensor& result, const LinearShape& shape, const Tensor& x, const Tensor& weight,
             const Tensor& bias)
      : Node(result, {&x, &weight, &bias}), shape_(shape) {
    if (input(0) != nullptr) weight_ = Saved(weight);
    if (input(1) != nullptr) x_ = Saved(x);
  }
  const char* name() const noexcept override { return "linear"; }
  void check_saved() const override {
    x_.check(name());
    weight_.check(name());
  }
  void release_saved() noexcept override {
    x_.reset();
    weight_.reset();
  }
  void backward(const Tensor& gradient) override {
    const auto [rows, in, out] = shape_;
    const auto& backend = backend_of(gradient);
    const backend::Queue queue = queue_of(gradient);
    const DType dtype = gradient.dtype();
    give_parameters(gradient);
    if (GradientSlot* x = input(0)) {
      const Tensor weight = weight_.value();
      auto [tensor, accumulate] = x->destination();
      backend.gemm.multiply(dtype, {.m = rows, .n = in, .k = out}, gradient.raw_data(),
                            weight.raw_data(), accumulate ? 1.0 : 0.0, tensor.impl()->data(),
                            queue);
    }
  }

 private:
  void give_parameters(const Tensor& gradient) {
    const auto& backend = backend_of(gradient);
    GradientSlot* weight = input(1);
    GradientSlot* bias = input(2);
    backend::LinearGradients operands{.gradient = gradient.raw_data()};
    GradientSlot::Destination bias_place;
    if (bias != nullptr) {
      bias_place = bias->destination();
      operands.bias = bias_place.tensor.impl()->data();
      operands.accumulate_bias = bias_place.accumulate;
    }
    if (weight == nullptr) {
      if (bias != nullptr)
        backend.reduction.sum(gradient.dtype(), operands.gradient, 1, shape_.rows, shape_.out, 1.0,
                              operands.accumulate_bias, operands.bias, queue_of(gradient));
      return;
    }
    const Tensor x = x_.value();
    const auto [tensor, accumulate] = weight->destination();
    operands.x = x.raw_data();
    operands.weight = tensor.impl()->data();
    operands.accumulate_weight = accumulate;
    backend.gemm.linear_gradients(gradient.dtype(), shape_, operands, queue_of(gradient));
  }

  LinearShape shape_;
  Saved x_;
  Saved weight_;
};

LinearShape checked_shape(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_alike(x, weight, "linear");
  if (x.shape().axes() < 1 || weight.shape().axes() != 2 || x.shape()[-1] != weight.shape()[1])
    throw ShapeError("linear: x " + to_string(x.shape()) + " and weight (out, in) " +
                     to_string(weight.shape()) + " do not fit");
  LinearShape shape{.in = weight.shape()[1], .out = weight.shape()[0]};
  for (int axis = 0; axis + 1 < x.shape().axes(); ++axis) shape.rows *= x.shape()[axis];
  if (bias.defined()) {
    check_alike(x, bias, "linear");
    if (!(bias.shape() == Shape{shape.out}))
      throw ShapeError("linear: bias " + to_string(bias.shape()) + " and weight (out, in) " +
                       to_string(weight.shape()) + " do not fit");
  }
  return shape;
}

}  // namespace
}  // namespace detail

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const detail::LinearShape shape = detail::checked_shape(x, weight, bias);
  std::array<std::int64_t, Shape::kMaxAxes> sizes{};
  const auto axes = static_cast<std::size_t>(x.shape().axes());
  for (std::size_t i = 0; i + 1 < axes; ++i) sizes[i] = x.shape().sizes()[i];
  sizes[axes - 1] = shape.out;
  Tensor result =
      empty(Shape(std::span<const std::int64_t>(sizes.data(), axes)), x.dtype(), x.device());
  detail::backend_of(x).gemm.linear(x.dtype(), shape.rows, shape.in, shape.out, x.raw_data(),
                                    weight.raw_data(), bias.defined() ? bias.raw_data() : nullptr,
                                    result.impl()->data(), detail::queue_of(x));
  if (detail::wants_tape({&x, &weight, &bias}))
    attach(result, detail::make_pooled<detail::LinearNode>(result, shape, x, weight, bias));
  return result;
}

}  // namespace lockstep::inline v0
