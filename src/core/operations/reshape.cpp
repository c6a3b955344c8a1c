// reshape: the same data under another shape; dx = g in the old shape.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class ReshapeNode final : public Node {
 public:
  ReshapeNode(const Tensor& result, const Tensor& x) : Node(result, {&x}) {}
  const char* name() const noexcept override { return "reshape"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0))
      x->give(make_tensor(gradient.impl()->storage, x->shape(), gradient.dtype()));
  }
};

}  // namespace
}  // namespace detail

Tensor reshape(const Tensor& x, const Shape& shape) {
  detail::checked(x, "reshape");
  if (shape.element_count() != x.element_count())
    throw ShapeError("reshape: " + to_string(x.shape()) + " has " +
                     std::to_string(x.element_count()) + " elements, " + to_string(shape) +
                     " has " + std::to_string(shape.element_count()));
  Tensor result = detail::make_tensor(x.impl()->storage, shape, x.dtype());
  if (detail::wants_tape({&x})) attach(result, detail::make_pooled<detail::ReshapeNode>(result, x));
  return result;
}

Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes) {
  std::array<std::int64_t, Shape::kMaxAxes> filled{};
  std::int64_t known = 1;
  int open = -1;
  if (sizes.size() > filled.size()) throw ShapeError("reshape: a shape has at most 8 axes");
  int axis = 0;
  for (std::int64_t size : sizes) {
    if (size == -1) {
      if (open >= 0) throw ShapeError("reshape: only one size may be -1");
      open = axis;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      throw ShapeError("reshape: the product of the sizes overflows");
    }
    filled[static_cast<std::size_t>(axis++)] = size;
  }
  if (open >= 0) {
    if (known <= 0 || detail::checked(x, "reshape").shape.element_count() % known != 0)
      throw ShapeError("reshape: " + to_string(x.shape()) +
                       " does not divide into the sizes given beside -1");
    filled[static_cast<std::size_t>(open)] = x.element_count() / known;
  }
  return reshape(x, Shape(std::span<const std::int64_t>(filled.data(), sizes.size())));
}

}  // namespace lockstep::inline v0
