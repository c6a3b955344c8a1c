// Activations as modules without state.
#pragma once

#include <lockstep/core/operations.hpp>

namespace lockstep::inline v0::nn {

struct ReLU {
  Tensor operator()(const Tensor& x) const { return relu(x); }
  ReLU clone() const { return {}; }
  template <class Visitor>
  void visit(Visitor&&) {}
};

/// The tanh form: PyTorch's GELU(approximate="tanh").
struct GELU {
  Tensor operator()(const Tensor& x) const { return gelu_tanh(x); }
  GELU clone() const { return {}; }
  template <class Visitor>
  void visit(Visitor&&) {}
};

}  // namespace lockstep::inline v0::nn
