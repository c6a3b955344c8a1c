// Fully connected layers with an activation between each two.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/nn/activation.hpp>
#include <lockstep/nn/dropout.hpp>
#include <lockstep/nn/linear.hpp>

namespace lockstep::inline v0::nn {

struct MlpOptions {
  double dropout = 0;  // probability, behind each activation
  bool bias = true;
  DType dtype = DType::float32;
};

/// Linear, activation, and Dropout if it was asked for, over and over; the last Linear stands
/// alone. `Mlp{{784, 512, 10}}` maps (..., 784) to (..., 10). Layers are named by their number, as
/// in a Sequential of all of them.
template <class Activation = ReLU>
class Mlp {
 public:
  /// `sizes`: the features before, between and behind the layers. @throws InvalidUsage for fewer
  /// than two
  explicit Mlp(const std::vector<std::int64_t>& sizes, const MlpOptions& options = {},
               Activation activation = {})
      : activation_(std::move(activation)) {
    if (sizes.size() < 2)
      throw InvalidUsage("Mlp: " + std::to_string(sizes.size()) +
                         " sizes; the least are those of its input and output");
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      if (i > 0 && options.dropout != 0) dropouts_.emplace_back(options.dropout);
      layers_.emplace_back(sizes[i], sizes[i + 1],
                           LinearOptions{.bias = options.bias, .dtype = options.dtype});
    }
  }

  Mlp(Mlp&&) noexcept = default;
  Mlp& operator=(Mlp&&) noexcept = default;

  Tensor operator()(const Tensor& x) const {
    Tensor y = layers_[0](x);
    for (std::size_t i = 1; i < layers_.size(); ++i) {
      y = activation_(y);
      if (!dropouts_.empty()) y = dropouts_[i - 1](y);
      y = layers_[i](y);
    }
    return y;
  }

  std::vector<Linear>& layers() noexcept { return layers_; }
  const std::vector<Linear>& layers() const noexcept { return layers_; }

  Mlp clone() const {
    std::vector<Linear> layers;
    for (const Linear& layer : layers_) layers.push_back(layer.clone());
    return Mlp(std::move(layers), dropouts_, activation_.clone());
  }
  template <class Visitor>
  void visit(Visitor&& visitor) {
    std::size_t number = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (i > 0) visitor(std::to_string(number++), activation_);
      if (i > 0 && !dropouts_.empty()) visitor(std::to_string(number++), dropouts_[i - 1]);
      visitor(std::to_string(number++), layers_[i]);
    }
  }

 private:
  Mlp(std::vector<Linear> layers, std::vector<Dropout> dropouts, Activation activation)
      : layers_(std::move(layers)),
        dropouts_(std::move(dropouts)),
        activation_(std::move(activation)) {}

  std::vector<Linear> layers_;
  std::vector<Dropout> dropouts_;  // one behind each activation, or none
  Activation activation_;          // has no parameters: one serves for all
};

}  // namespace lockstep::inline v0::nn
