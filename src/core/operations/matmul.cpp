// matmul: c = a b; da = g b^T, db = a^T g, for the matrices of the last two axes; added up over
// batch axes along which a or b was repeated.
#include <algorithm>
#include <cstddef>
#include <utility>

#include <lockstep/core/operations.hpp>

#include "core/operations/axes.hpp"
#include "core/strided.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

struct Operand {
  const Tensor& tensor;
  bool transposed = false;
};

/// The axes of the result's batch, with the strides of both operands.
CommonAxes batch_axes(const Shape& a, const Shape& b, const Shape& c) {
  const Strides a_strides = aligned_strides(a, c.axes());
  const Strides b_strides = aligned_strides(b, c.axes());
  CommonAxes batch;
  for (std::size_t i = 0; i + 2 < c.sizes().size(); ++i)
    batch.append(c.sizes()[i], a_strides[i], b_strides[i]);
  return batch;
}

/// c = a b + beta c for each matrix of c, of which the shape is given. One call for the batch axes
/// that are one in memory, of a and b alike.
void multiply(const Operand& a, const Operand& b, const Shape& c_shape, double beta, void* c) {
  if (c_shape.element_count() == 0) return;
  backend::GemmShape shape{.transpose_a = a.transposed,
                           .transpose_b = b.transposed,
                           .m = c_shape[-2],
                           .n = c_shape[-1],
                           .k = a.tensor.shape()[a.transposed ? -2 : -1]};
  auto& gemm = backend_of(a.tensor).gemm;
  const backend::Queue queue = queue_of(a.tensor);
  const DType dtype = a.tensor.dtype();
  const auto* a_data = static_cast<const std::byte*>(a.tensor.raw_data());
  const auto* b_data = static_cast<const std::byte*>(b.tensor.raw_data());
  if (c_shape.axes() == 2) return gemm.multiply(dtype, shape, a_data, b_data, beta, c, queue);
  CommonAxes batch = batch_axes(a.tensor.shape(), b.tensor.shape(), c_shape);
  if (batch.axes > 0) {
    const auto last = static_cast<std::size_t>(--batch.axes);
    shape.batch = batch.sizes[last];
    shape.a_stride = batch.a_strides[last];
    shape.b_stride = batch.b_strides[last];
  }
  const std::int64_t count = shape.batch * shape.m * shape.n;
  const std::int64_t element = byte_size(dtype);
  for (std::int64_t i = 0; i < c_shape.element_count() / count; ++i) {
    const auto* from_a = a_data;
    const auto* from_b = b_data;
    std::int64_t rest = i;
    for (int axis = batch.axes - 1; axis >= 0; --axis) {
      const auto at = static_cast<std::size_t>(axis);
      from_a += rest % batch.sizes[at] * batch.a_strides[at] * element;
      from_b += rest % batch.sizes[at] * batch.b_strides[at] * element;
      rest /= batch.sizes[at];
    }
    gemm.multiply(dtype, shape, from_a, from_b, beta,
                  static_cast<std::byte*>(c) + i * count * element, queue);
  }
}

std::span<const std::int64_t> batch_sizes(const Shape& shape) {
  return shape.sizes().first(shape.sizes().size() - 2);
}

/// Matrices in a batch of these sizes.
Shape in_batch(std::span<const std::int64_t> batch, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> sizes(batch.begin(), batch.end());
  sizes.insert(sizes.end(), {rows, columns});
  return Shape(sizes);
}

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
    if (GradientSlot* a = input(0)) {
      const Tensor b = b_.value();
      give(*a, {gradient}, {b, true});
    }
    if (GradientSlot* b = input(1)) {
      const Tensor a = a_.value();
      give(*b, {a, true}, {gradient});
    }
  }

 private:
  void give(GradientSlot& slot, const Operand& left, const Operand& right) const {
    if (std::ranges::equal(batch_sizes(slot.shape()), batch_sizes(shape()))) {
      const auto [tensor, accumulate] = slot.destination();
      multiply(left, right, slot.shape(), accumulate ? 1.0 : 0.0, tensor.impl()->data());
      return;
    }
    const Shape repeated = in_batch(batch_sizes(shape()), slot.shape()[-2], slot.shape()[-1]);
    const Tensor products = empty(repeated, left.tensor.dtype(), left.tensor.device());
    multiply(left, right, repeated, 0.0, products.impl()->data());
    slot.give(reduce_to(products, slot.shape()));
  }

  Saved a_;
  Saved b_;
};

Shape batch_of(const Shape& shape) { return Shape(batch_sizes(shape)); }

/// The result's shape. @throws ShapeError
Shape product_shape(const Tensor& a, const Tensor& b) {
  if (a.shape().axes() < 2 || b.shape().axes() < 2 || a.shape()[-1] != b.shape()[-2])
    throw_shapes("matmul", a, b);
  if (a.shape().axes() == 2 && b.shape().axes() == 2) return {a.shape()[0], b.shape()[1]};
  const std::optional<Shape> batch = common_shape(batch_of(a.shape()), batch_of(b.shape()));
  if (!batch) throw_shapes("matmul", a, b);
  return in_batch(batch->sizes(), a.shape()[-2], b.shape()[-1]);
}

}  // namespace
}  // namespace detail

Tensor matmul(const Tensor& a, const Tensor& b) {
  detail::check_alike(a, b, "matmul");
  const Shape shape = detail::product_shape(a, b);
  // All rows of all a by one b.
  if (shape.axes() > 2 && detail::batch_of(b.shape()).element_count() == 1) {
    const std::int64_t rows = detail::batch_of(shape).element_count() * shape[-2];
    const Shape b_shape{b.shape()[-2], b.shape()[-1]};
    return reshape(matmul(reshape(a, Shape{rows, b_shape[0]}), reshape(b, b_shape)), shape);
  }
  Tensor result = empty(shape, a.dtype(), a.device());
  detail::multiply({a}, {b}, shape, 0.0, result.impl()->data());
  if (detail::wants_tape({&a, &b}))
    attach(result, detail::make_pooled<detail::MatmulNode>(result, a, b));
  return result;
}

}  // namespace lockstep::inline v0
