// max and min along an axis: dx = g at the first of the extremes, 0 elsewhere. argmax and argmin,
// which are not differentiable.
#include <utility>

#include <lockstep/core/axes.hpp>

#include "core/operations/axes.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

/// One of the four operations at one axis.
struct Extreme {
  Extreme(const Tensor& x, int given_axis, const char* operation, bool is_maximum, bool keep)
      : name(operation), maximum(is_maximum) {
    const DType dtype = checked(x, name).dtype;
    if (dtype != DType::float32 && dtype != DType::float64 && dtype != DType::int64 &&
        dtype != DType::int32)
      throw InvalidUsage(std::string(name) +
                         " compares float32, float64, int64 and int32; this is " +
                         lockstep::name(dtype) + "; convert with to()");
    const int axis = checked_axis(x.shape(), given_axis, name);
    size = extents_at(x.shape(), axis);
    shape = reduced_shape(x.shape(), AxisSet().set(static_cast<std::size_t>(axis)), keep);
    if (size.extent == 0 && shape.element_count() > 0)
      throw InvalidUsage(std::string(name) + ": no elements along axis " + std::to_string(axis) +
                         " of shape " + to_string(x.shape()));
  }

  /// Either result may be undefined.
  void find(const Tensor& x, const Tensor& values, const Tensor& indexes) const {
    if (shape.element_count() == 0) return;
    backend_of(x).reduction.extreme(
        x.dtype(), maximum, x.raw_data(), size, values.defined() ? values.impl()->data() : nullptr,
        indexes.defined() ? static_cast<std::int64_t*>(indexes.impl()->data()) : nullptr,
        queue_of(x));
  }

  const char* name;
  bool maximum;
  Extents size;
  Shape shape;  // of the result
};

class ExtremeNode final : public Node {
 public:
  ExtremeNode(const Tensor& result, const Tensor& x, const Extreme& extreme, Tensor indexes)
      : Node(result, {&x}),
        name_(extreme.name),
        size_(extreme.size),
        indexes_(std::move(indexes)) {}
  const char* name() const noexcept override { return name_; }
  void release_saved() noexcept override { indexes_ = {}; }
  void backward(const Tensor& gradient) override {
    GradientSlot* x = input(0);
    if (x == nullptr) return;
    Tensor given = empty(x->shape(), gradient.dtype(), gradient.device());
    if (given.element_count() > 0)
      backend_of(gradient).reduction.extreme_backward(gradient.dtype(), gradient.raw_data(),
                                                      indexes_.data<std::int64_t>(), size_,
                                                      given.impl()->data(), queue_of(gradient));
    x->give(std::move(given));
  }

 private:
  const char* name_;
  Extents size_;
  Tensor indexes_;
};

Tensor extreme_values(const Tensor& x, const Extreme& extreme) {
  Tensor values = empty(extreme.shape, x.dtype(), x.device());
  if (!wants_tape({&x})) {
    extreme.find(x, values, {});
    return values;
  }
  Tensor indexes = empty(extreme.shape, DType::int64, x.device());
  extreme.find(x, values, indexes);
  attach(values, detail::make_pooled<ExtremeNode>(values, x, extreme, std::move(indexes)));
  return values;
}

Tensor extreme_indexes(const Tensor& x, const Extreme& extreme) {
  Tensor indexes = empty(extreme.shape, DType::int64, x.device());
  extreme.find(x, {}, indexes);
  return indexes;
}

}  // namespace
}  // namespace detail

Tensor max(const Tensor& x, int axis, AxisOptions options) {
  return detail::extreme_values(x, {x, axis, "max", true, options.keep});
}
Tensor min(const Tensor& x, int axis, AxisOptions options) {
  return detail::extreme_values(x, {x, axis, "min", false, options.keep});
}
Tensor argmax(const Tensor& x, int axis, AxisOptions options) {
  return detail::extreme_indexes(x, {x, axis, "argmax", true, options.keep});
}
Tensor argmin(const Tensor& x, int axis, AxisOptions options) {
  return detail::extreme_indexes(x, {x, axis, "argmin", false, options.keep});
}

}  // namespace lockstep::inline v0
