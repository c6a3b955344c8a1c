#include <lockstep/nn/linear.hpp>

#include <cmath>
#include <string>

#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>

namespace lockstep::inline v0::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options)
    : Linear(in_features, out_features, default_generator(), options) {}

Linear::Linear(std::int64_t in_features, std::int64_t out_features, Generator& generator,
               LinearOptions options) {
  const double bound = in_features > 0 ? 1.0 / std::sqrt(static_cast<double>(in_features)) : 0.0;
  weight_ =
      Parameter(uniform(Shape{out_features, in_features}, -bound, bound, options.dtype, generator));
  if (options.bias)
    bias_ = Parameter(uniform(Shape{out_features}, -bound, bound, options.dtype, generator));
}

Linear::Linear(Parameter weight, Parameter bias)
    : weight_(std::move(weight)), bias_(std::move(bias)) {
  if (!weight_.defined() || weight_.shape().axes() != 2)
    throw ShapeError("Linear: the weight has shape (out, in)");
  if (bias_.defined() && !(bias_.shape() == Shape{out_features()}))
    throw ShapeError("Linear: weight " + to_string(weight_.shape()) + " and bias " +
                     to_string(bias_.shape()) + " do not fit");
}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight_, bias_.value()); }

Linear Linear::clone() const { return Linear(weight_.clone(), bias_.clone()); }

}  // namespace lockstep::inline v0::nn
