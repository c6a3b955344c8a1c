// embedding: y[i] = weight[indices[i]]; dweight[r] = sum of g[i] over the i with this index, but 0
// for the padding row.
#include <algorithm>
#include <array>
#include <span>

#include <lockstep/core/rows.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class EmbeddingNode final : public Node {
 public:
  EmbeddingNode(const Tensor& result, const backend::EmbeddingShape& shape, const Tensor& indices,
                const Tensor& weight)
      : Node(result, {&weight}), shape_(shape), indices_(indices) {}
  const char* name() const noexcept override { return "embedding"; }
  void check_saved() const override { indices_.check(name()); }
  void release_saved() noexcept override { indices_.reset(); }
  void backward(const Tensor& gradient) override {
    GradientSlot* weight = input(0);
    if (weight == nullptr) return;
    const Tensor indices = indices_.value();
    auto [tensor, accumulate] = weight->destination();
    backend_of(gradient).embedding.embedding_backward(
        gradient.dtype(), shape_, indices.data<std::int64_t>(), gradient.raw_data(), accumulate,
        tensor.impl()->data(), queue_of(gradient));
  }

 private:
  backend::EmbeddingShape shape_;
  Saved indices_;
};

/// @throws InvalidUsage, ShapeError
void check(const Tensor& indices, const Tensor& weight, const EmbeddingOptions& options) {
  check_computed(weight, "embedding");
  const DType dtype = checked(indices, "embedding").dtype;
  if (dtype != DType::int64 && dtype != DType::int32)
    throw InvalidUsage(std::string("embedding: indices are int64 or int32; these are ") +
                       name(dtype));
  if (!(indices.device() == weight.device()))
    throw InvalidUsage("embedding: the weight is on " + to_string(weight.device()) +
                       ", indices on " + to_string(indices.device()));
  if (weight.shape().axes() != 2)
    throw ShapeError("embedding: the weight has shape (rows, columns), not " +
                     to_string(weight.shape()));
  if (indices.shape().axes() == Shape::kMaxAxes)
    throw ShapeError("embedding: indices " + to_string(indices.shape()) +
                     " leave no axis for the columns");
  if (options.padding_index &&
      (*options.padding_index < 0 || *options.padding_index >= weight.shape()[0]))
    throw InvalidUsage("embedding: padding index " + std::to_string(*options.padding_index) +
                       " is no row of the weight " + to_string(weight.shape()));
}

Tensor as_int64(const Tensor& indices) {
  if (indices.dtype() == DType::int64) return indices;
  Tensor result = empty(indices.shape(), DType::int64, indices.device());
  backend_of(indices).elementwise.cast(DType::int32, indices.raw_data(), DType::int64,
                                       result.impl()->data(), indices.element_count(),
                                       queue_of(indices));
  return result;
}

Shape with_columns(const Shape& indices, std::int64_t columns) {
  std::array<std::int64_t, Shape::kMaxAxes> sizes{};
  std::copy(indices.sizes().begin(), indices.sizes().end(), sizes.begin());
  const auto axes = static_cast<std::size_t>(indices.axes());
  sizes[axes] = columns;
  return Shape(std::span<const std::int64_t>(sizes.data(), axes + 1));
}

}  // namespace
}  // namespace detail

Tensor embedding(const Tensor& indices, const Tensor& weight, EmbeddingOptions options) {
  detail::check(indices, weight, options);
  const Tensor positions = detail::as_int64(indices);
  const backend::EmbeddingShape shape{.count = indices.element_count(),
                                      .rows = weight.shape()[0],
                                      .columns = weight.shape()[1],
                                      .padding_index = options.padding_index.value_or(-1)};
  Tensor result =
      empty(detail::with_columns(indices.shape(), shape.columns), weight.dtype(), weight.device());
  detail::backend_of(weight).embedding.embedding(weight.dtype(), shape,
                                                 positions.data<std::int64_t>(), weight.raw_data(),
                                                 result.impl()->data(), detail::queue_of(weight));
  if (detail::wants_tape({&weight}))
    attach(result, detail::make_pooled<detail::EmbeddingNode>(result, shape, positions, weight));
  return result;
}

}  // namespace lockstep::inline v0
