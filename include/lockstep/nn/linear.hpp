// Fully connected layer.
#pragma once

#include <lockstep/core/module.hpp>
#include <lockstep/core/random.hpp>

namespace lockstep::inline v0::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::float32;
};

/// (..., in) -> (..., out): x weight^T + bias. weight (out, in), bias (out).
class LOCKSTEP_API Linear {
 public:
  /// weight and bias uniform in (-1/sqrt(in), 1/sqrt(in)), PyTorch's default, from the default
  /// generator.
  Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options = {});
  Linear(std::int64_t in_features, std::int64_t out_features, Generator& generator,
         LinearOptions options = {});
  /// From given parameters, for example tied ones. @throws ShapeError
  explicit Linear(Parameter weight, Parameter bias = {});

  Tensor operator()(const Tensor& x) const;

  Parameter& weight() noexcept { return weight_; }
  const Parameter& weight() const noexcept { return weight_; }
  /// Undefined without a bias.
  Parameter& bias() noexcept { return bias_; }
  const Parameter& bias() const noexcept { return bias_; }
  std::int64_t in_features() const { return weight_.shape()[1]; }
  std::int64_t out_features() const { return weight_.shape()[0]; }

  Linear clone() const;
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("weight", weight_);
    if (bias_.defined()) visitor("bias", bias_);
  }

 private:
  Parameter weight_;
  Parameter bias_;
};

}  // namespace lockstep::inline v0::nn
