// Layer normalization as a module.
#pragma once

#include <lockstep/core/module.hpp>

namespace lockstep::inline v0::nn {

struct LayerNormOptions {
  double epsilon = 1e-5;
  bool affine = true;  // weight, and bias unless that is false
  bool bias = true;
  DType dtype = DType::float32;
};

/// lockstep::layer_norm over the last axes, which have the shape `normalized`. Weight and bias have
/// that shape too and start as ones and zeros.
class LOCKSTEP_API LayerNorm {
 public:
  explicit LayerNorm(const Shape& normalized, LayerNormOptions options = {});
  /// Over the last axis alone.
  explicit LayerNorm(std::int64_t features, LayerNormOptions options = {});

  Tensor operator()(const Tensor& x) const;

  /// Undefined if not affine.
  Parameter& weight() noexcept { return weight_; }
  const Parameter& weight() const noexcept { return weight_; }
  /// Undefined without a bias.
  Parameter& bias() noexcept { return bias_; }
  const Parameter& bias() const noexcept { return bias_; }
  const Shape& normalized() const noexcept { return normalized_; }
  double epsilon() const noexcept { return epsilon_; }

  LayerNorm clone() const;
  template <class Visitor>
  void visit(Visitor&& visitor) {
    if (weight_.defined()) visitor("weight", weight_);
    if (bias_.defined()) visitor("bias", bias_);
  }

 private:
  Shape normalized_;
  double epsilon_;
  Parameter weight_;
  Parameter bias_;
};

}  // namespace lockstep::inline v0::nn
