// add, sub, mul, div with broadcasting. d(a+b) = (g, g); d(a-b) = (g, -g); d(a*b) = (g b, g a);
// d(a/b) = (g / b, -g (a / b) / b), each added up over repeated axes.
#include <algorithm>
#include <utility>

#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"
#include "core/strided.hpp"

namespace lockstep::inline v0 {

namespace detail {

using backend::BinaryOperation;
using backend::Broadcast;

std::optional<Shape> common_shape(const Shape& a, const Shape& b) {
  const int axes = std::max(a.axes(), b.axes());
  Strides sizes{};
  for (int i = 1; i <= axes; ++i) {
    const std::int64_t in_a = i <= a.axes() ? a[-i] : 1;
    const std::int64_t in_b = i <= b.axes() ? b[-i] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) return {};
    sizes[static_cast<std::size_t>(axes - i)] = in_a == 1 ? in_b : in_a;
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(axes)));
}

Shape broadcast_shape(const Tensor& a, const Tensor& b, const char* operation) {
  if (a.shape() == b.shape()) return a.shape();
  const std::optional<Shape> shape = common_shape(a.shape(), b.shape());
  if (!shape) throw_shapes(operation, a, b);
  return *shape;
}

namespace {

Broadcast merged(const Shape& result, const Shape& a, const Shape& b) {
  const Strides a_strides = aligned_strides(a, result.axes());
  const Strides b_strides = aligned_strides(b, result.axes());
  CommonAxes axes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.axes()); ++i)
    axes.append(result.sizes()[i], a_strides[i], b_strides[i]);
  return {axes.axes, axes.sizes, axes.a_strides, axes.b_strides};
}

}  // namespace

Tensor broadcast_binary(BinaryOperation operation, const Tensor& a, const Tensor& b,
                        const Shape& result) {
  Tensor out = empty(result, a.dtype(), a.device());
  if (result.element_count() > 0)
    backend_of(a).elementwise.binary(operation, a.dtype(), merged(result, a.shape(), b.shape()),
                                     a.raw_data(), b.raw_data(), out.impl()->data(), queue_of(a));
  return out;
}

namespace {

const char* operation_name(BinaryOperation operation) {
  switch (operation) {
    case BinaryOperation::add:
      return "add";
    case BinaryOperation::sub:
      return "sub";
    case BinaryOperation::mul:
      return "mul";
    case BinaryOperation::div:
      return "div";
  }
  return "?";
}

class BinaryNode final : public Node {
 public:
  BinaryNode(const Tensor& result, BinaryOperation operation, const Tensor& a, const Tensor& b)
      : Node(result, {&a, &b}), operation_(operation) {
    const bool product = operation == BinaryOperation::mul;
    const bool quotient = operation == BinaryOperation::div;
    if ((product && input(0) != nullptr) || quotient) b_ = Saved(b);
    if (product && input(1) != nullptr) a_ = Saved(a);
    if (quotient && input(1) != nullptr) result_ = Saved(result);
  }
  const char* name() const noexcept override { return operation_name(operation_); }
  void check_saved() const override {
    a_.check(name());
    b_.check(name());
    result_.check(name());
  }
  void release_saved() noexcept override {
    a_.reset();
    b_.reset();
    result_.reset();
  }
  void backward(const Tensor& gradient) override {
    GradientSlot* a = input(0);
    GradientSlot* b = input(1);
    switch (operation_) {
      case BinaryOperation::mul:
        if (a != nullptr) give(*a, apply(BinaryOperation::mul, gradient, b_.value()));
        if (b != nullptr) give(*b, apply(BinaryOperation::mul, gradient, a_.value()));
        return;
      case BinaryOperation::div:
        if (a != nullptr) give(*a, apply(BinaryOperation::div, gradient, b_.value()));
        if (b != nullptr) give_divisor(*b, gradient);
        return;
      default:
        if (a != nullptr) give(*a, gradient);
        if (b != nullptr) give_second(*b, gradient);
    }
  }

 private:
  /// Over the shape of the gradient, into which both fit.
  static Tensor apply(BinaryOperation operation, const Tensor& gradient, const Tensor& other) {
    return broadcast_binary(operation, gradient, other, gradient.shape());
  }
  static void give(GradientSlot& slot, const Tensor& gradient) {
    slot.give(reduce_to(gradient, slot.shape()));
  }
  void give_second(GradientSlot& slot, const Tensor& gradient) {
    Tensor reduced = reduce_to(gradient, slot.shape());
    if (operation_ == BinaryOperation::add) {
      slot.give(std::move(reduced));
      return;
    }
    slot.give(negated(reduced));
  }
  void give_divisor(GradientSlot& slot, const Tensor& gradient) {
    const Tensor slope =
        broadcast_binary(BinaryOperation::div, result_.value(), b_.value(), gradient.shape());
    slot.give(negated(reduce_to(apply(BinaryOperation::mul, gradient, slope), slot.shape())));
  }
  static Tensor negated(const Tensor& x) {
    Tensor result = empty(x.shape(), x.dtype(), x.device());
    backend_of(x).elementwise.affine(x.dtype(), x.raw_data(), -1.0, 0.0, result.impl()->data(),
                                     x.element_count(), queue_of(x));
    return result;
  }

  BinaryOperation operation_;
  Saved a_;
  Saved b_;
  Saved result_;
};

/// A number as an operand beside x.
Tensor number_like(const Tensor& x, double number, const char* operation) {
  check_computed(x, operation);
  return full(Shape{}, number, x.dtype(), x.device());
}

Tensor recorded_binary(BinaryOperation operation, const Tensor& a, const Tensor& b) {
  check_alike(a, b, operation_name(operation));
  Tensor result =
      broadcast_binary(operation, a, b, broadcast_shape(a, b, operation_name(operation)));
  if (wants_tape({&a, &b})) attach(result, make_pooled<BinaryNode>(result, operation, a, b));
  return result;
}

}  // namespace
}  // namespace detail

Tensor add(const Tensor& a, const Tensor& b) {
  return detail::recorded_binary(backend::BinaryOperation::add, a, b);
}
Tensor sub(const Tensor& a, const Tensor& b) {
  return detail::recorded_binary(backend::BinaryOperation::sub, a, b);
}
Tensor mul(const Tensor& a, const Tensor& b) {
  return detail::recorded_binary(backend::BinaryOperation::mul, a, b);
}
Tensor div(const Tensor& a, const Tensor& b) {
  return detail::recorded_binary(backend::BinaryOperation::div, a, b);
}
Tensor div(const Tensor& a, double b) { return div(a, detail::number_like(a, b, "div")); }
Tensor div(double a, const Tensor& b) { return div(detail::number_like(b, a, "div"), b); }

}  // namespace lockstep::inline v0
