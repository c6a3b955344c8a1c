// layer_norm: y = h weight + bias with h = (x - mean) / deviation; dweight = sum of g h over rows,
// dbias = sum of g, dx = (u - mean of u - h times the mean of u h) / deviation with u = g weight.
#include <algorithm>
#include <span>

#include <lockstep/core/rows.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class LayerNormNode final : public Node {
 public:
  LayerNormNode(const Tensor& result, const backend::LayerNormShape& shape,
                const Tensor& statistics, const Tensor& x, const Tensor& weight, const Tensor& bias)
      : Node(result, {&x, &weight, &bias}), shape_(shape), statistics_(statistics), x_(x) {
    if (input(0) != nullptr && weight.defined()) weight_ = Saved(weight);
  }
  const char* name() const noexcept override { return "layer_norm"; }
  void check_saved() const override {
    x_.check(name());
    weight_.check(name());
  }
  void release_saved() noexcept override {
    x_.reset();
    weight_.reset();
    statistics_ = {};
  }
  void backward(const Tensor& gradient) override {
    backend::LayerNormGradients arrays{
        .gradient = gradient.raw_data(),
        .x = x_.value().raw_data(),
        .weight = weight_.defined() ? weight_.value().raw_data() : nullptr,
        .statistics = statistics_.data<double>()};
    Tensor results[3];
    void** const places[3] = {&arrays.dx, &arrays.dweight, &arrays.dbias};
    for (std::size_t i = 0; i < 3; ++i) {
      if (input(i) == nullptr) continue;
      results[i] = empty(input(i)->shape(), gradient.dtype(), gradient.device());
      *places[i] = results[i].impl()->data();
    }
    backend_of(gradient).normalization.layer_norm_backward(gradient.dtype(), shape_, arrays,
                                                           queue_of(gradient));
    for (std::size_t i = 0; i < 3; ++i)
      if (input(i) != nullptr) input(i)->give(std::move(results[i]));
  }

 private:
  backend::LayerNormShape shape_;
  Tensor statistics_;
  Saved x_;
  Saved weight_;
};

void check_parameter(const char* what, const Tensor& x, const Tensor& parameter,
                     const Shape& normalized) {
  if (!parameter.defined()) return;
  check_alike(x, parameter, "layer_norm");
  if (!(parameter.shape() == normalized))
    throw ShapeError(std::string("layer_norm: ") + what + " " + to_string(parameter.shape()) +
                     " has not the normalized shape " + to_string(normalized));
}

backend::LayerNormShape checked_shape(const Tensor& x, const Shape& normalized, double epsilon) {
  check_computed(x, "layer_norm");
  const std::span<const std::int64_t> sizes = x.shape().sizes();
  const std::span<const std::int64_t> last = normalized.sizes();
  if (last.empty() || last.size() > sizes.size() ||
      !std::equal(last.begin(), last.end(), sizes.end() - normalized.axes()))
    throw ShapeError("layer_norm: the last axes of x " + to_string(x.shape()) + " are not " +
                     to_string(normalized));
  backend::LayerNormShape shape{
      .rows = 1, .columns = normalized.element_count(), .epsilon = epsilon};
  for (const std::int64_t size : sizes.first(sizes.size() - last.size())) shape.rows *= size;
  return shape;
}

}  // namespace
}  // namespace detail

Tensor layer_norm(const Tensor& x, const Shape& normalized, const Tensor& weight,
                  const Tensor& bias, double epsilon) {
  const backend::LayerNormShape shape = detail::checked_shape(x, normalized, epsilon);
  detail::check_parameter("weight", x, weight, normalized);
  detail::check_parameter("bias", x, bias, normalized);
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  Tensor statistics = empty(Shape{shape.rows, 2}, DType::float64, x.device());
  detail::backend_of(x).normalization.layer_norm(
      x.dtype(), shape, x.raw_data(), weight.defined() ? weight.raw_data() : nullptr,
      bias.defined() ? bias.raw_data() : nullptr, result.impl()->data(),
      static_cast<double*>(statistics.impl()->data()), detail::queue_of(x));
  if (detail::wants_tape({&x, &weight, &bias}))
    attach(result,
           detail::make_pooled<detail::LayerNormNode>(result, shape, statistics, x, weight, bias));
  return result;
}

}  // namespace lockstep::inline v0
