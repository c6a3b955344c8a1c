// Activations as modules without parameters.
#pragma once

#include <cstdint>

#include <lockstep/core/operations.hpp>

namespace lockstep::inline v0::nn {

/// An operation as a module.
template <Tensor (*kOperation)(const Tensor&)>
struct Activation {
  Tensor operator()(const Tensor& x) const { return kOperation(x); }
  Activation clone() const { return {}; }
  template <class Visitor>
  void visit(Visitor&&) {}
};

using ReLU = Activation<relu>;
using SiLU = Activation<silu>;
using Sigmoid = Activation<sigmoid>;
using Tanh = Activation<tanh>;

enum class GeluForm : std::uint8_t { exact, tanh };

/// PyTorch's GELU(), and with GeluForm::tanh its GELU(approximate="tanh").
struct GELU {
  GeluForm form = GeluForm::exact;

  Tensor operator()(const Tensor& x) const {
    return form == GeluForm::exact ? gelu(x) : gelu_tanh(x);
  }
  GELU clone() const { return *this; }
  template <class Visitor>
  void visit(Visitor&&) {}
};

}  // namespace lockstep::inline v0::nn
