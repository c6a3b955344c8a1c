// Compares gradients of backward with central differences in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/no_grad.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/core/random.hpp>

namespace gradient_check {

using Tensors = std::vector<lockstep::Tensor>;
using Function = std::function<lockstep::Tensor(const Tensors&)>;

/// Of central differences with this step on functions of values around 1: truncation 1e-10,
/// rounding 1e-10.
inline constexpr double kStep = 1e-5;
inline constexpr double kTolerance = 1e-8;

/// Random float64 leaves of these shapes, away from the kink of relu at 0.
inline Tensors random_leaves(const std::vector<lockstep::Shape>& shapes) {
  lockstep::Generator generator{17};
  Tensors inputs;
  for (const lockstep::Shape& shape : shapes) {
    lockstep::Tensor x = uniform(shape, -1.5, 1.5, lockstep::DType::float64, generator);
    double* values = x.mutable_data<double>();
    for (std::int64_t i = 0; i < x.element_count(); ++i)
      if (std::abs(values[i]) < 0.01) values[i] += 0.1;
    inputs.push_back(x.set_requires_grad(true));
  }
  return inputs;
}

/// sum(function(inputs) * weights), the weights being random but fixed.
inline lockstep::Tensor weighted_sum(const Function& function, const Tensors& inputs) {
  const lockstep::Tensor output = function(inputs);
  lockstep::Generator generator{18};
  return sum(output * uniform(output.shape(), 0.5, 1.5, output.dtype(), generator));
}

/// The largest |gradient - difference quotient| / (1 + |difference quotient|) over all elements of
/// all inputs. 0 where there is none.
inline double largest_error(const Function& function, Tensors inputs) {
  weighted_sum(function, inputs).backward();
  double largest = 0;
  for (lockstep::Tensor& input : inputs) {
    const std::vector<double> gradient = input.gradient().to_vector<double>();
    const lockstep::NoGrad no_grad;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double before = input.mutable_data<double>()[i];
      input.mutable_data<double>()[i] = before + kStep;
      const double above = weighted_sum(function, inputs).item<double>();
      input.mutable_data<double>()[i] = before - kStep;
      const double below = weighted_sum(function, inputs).item<double>();
      input.mutable_data<double>()[i] = before;
      const double quotient = (above - below) / (2 * kStep);
      const double error = std::abs(gradient[i] - quotient) / (1 + std::abs(quotient));
      largest = error <= largest ? largest : error;  // keeps a NaN
    }
  }
  return largest;
}

}  // namespace gradient_check
