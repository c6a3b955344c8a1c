#include <lockstep/nn/layer_norm.hpp>

#include <lockstep/core/create.hpp>
#include <lockstep/core/rows.hpp>

namespace lockstep::inline v0::nn {

LayerNorm::LayerNorm(const Shape& normalized, LayerNormOptions options)
    : normalized_(normalized), epsilon_(options.epsilon) {
  if (!options.affine) return;
  weight_ = Parameter(full(normalized, 1.0, options.dtype));
  if (options.bias) bias_ = Parameter(zeros(normalized, options.dtype));
}

LayerNorm::LayerNorm(std::int64_t features, LayerNormOptions options)
    : LayerNorm(Shape{features}, options) {}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, normalized_, weight_.value(), bias_.value(), epsilon_);
}

LayerNorm LayerNorm::clone() const {
  LayerNorm copy(normalized_, {.epsilon = epsilon_, .affine = false});
  copy.weight_ = weight_.clone();
  copy.bias_ = bias_.clone();
  return copy;
}

}  // namespace lockstep::inline v0::nn
