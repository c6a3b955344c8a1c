// concatenate and stack: tensors one behind the other; the gradient of each is its part of g.
#include <algorithm>
#include <utility>

#include <lockstep/core/axes.hpp>
#include <lockstep/core/operations.hpp>

#include "core/operations/axes.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

std::vector<const Tensor*> pointers_to(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

class ConcatenateNode final : public Node {
 public:
  ConcatenateNode(const Tensor& result, const std::vector<const Tensor*>& inputs, int axis)
      : Node(result, inputs), axis_(axis) {
    for (const Tensor* input : inputs) sizes_.push_back(input->shape()[axis]);
  }
  const char* name() const noexcept override { return "concatenate"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    Part place{.whole = extents_at(gradient.shape(), axis_)};
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      place.count = sizes_[i];
      if (GradientSlot* x = input(i)) {
        Tensor part = empty(x->shape(), gradient.dtype(), gradient.device());
        copy_out(place, gradient, part);
        x->give(std::move(part));
      }
      place.begin += place.count;
    }
  }

 private:
  int axis_;
  std::vector<std::int64_t> sizes_;
};

void check_given(const std::vector<Tensor>& tensors, const char* operation) {
  if (tensors.empty()) throw InvalidUsage(std::string(operation) + ": no tensors are given");
  for (const Tensor& tensor : tensors) {
    checked(tensor, operation);
    check_same_kind(tensors[0], tensor, operation);
  }
}

/// Whether the shapes agree but for the size along the axis.
bool fit(const Shape& a, const Shape& b, int axis) {
  return a.axes() == b.axes() && with_size(a, axis, 0) == with_size(b, axis, 0);
}

}  // namespace
}  // namespace detail

Tensor concatenate(const std::vector<Tensor>& tensors, int given_axis) {
  detail::check_given(tensors, "concatenate");
  const Shape& first = tensors[0].shape();
  const int axis = detail::checked_axis(first, given_axis, "concatenate");
  std::int64_t size = 0;
  for (const Tensor& tensor : tensors) {
    if (!detail::fit(first, tensor.shape(), axis))
      throw ShapeError("concatenate: shapes " + to_string(first) + " and " +
                       to_string(tensor.shape()) + " do not fit along axis " +
                       std::to_string(axis));
    size += tensor.shape()[axis];
  }
  const Shape shape = detail::with_size(first, axis, size);
  Tensor result = empty(shape, tensors[0].dtype(), tensors[0].device());
  detail::Part place{.whole = detail::extents_at(shape, axis)};
  for (const Tensor& tensor : tensors) {
    place.count = tensor.shape()[axis];
    detail::copy_in(place, tensor, result);
    place.begin += place.count;
  }
  const std::vector<const Tensor*> inputs = detail::pointers_to(tensors);
  if (detail::wants_tape(inputs))
    attach(result, detail::make_pooled<detail::ConcatenateNode>(result, inputs, axis));
  return result;
}

Tensor stack(const std::vector<Tensor>& tensors, int given_axis) {
  detail::check_given(tensors, "stack");
  const Shape& shape = tensors[0].shape();
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.push_back(1);
  const int axis = detail::checked_axis(Shape(sizes), given_axis, "stack");
  std::rotate(sizes.begin() + axis, sizes.end() - 1, sizes.end());
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (!(tensor.shape() == shape)) detail::throw_shapes("stack", tensors[0], tensor);
    parts.push_back(reshape(tensor, Shape(sizes)));
  }
  return concatenate(parts, axis);
}

}  // namespace lockstep::inline v0
