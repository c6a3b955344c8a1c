// Stochastic gradient descent with momentum (PyTorch's formulation).
#pragma once

#include <lockstep/optim/optimizer.hpp>

namespace lockstep::inline v0::optim {

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;  // added to the gradient
  bool nesterov = false;    // needs momentum and no dampening
};

/// g += decay * w; v = momentum * v + (1 - dampening) * g (v = g in the first step); w -= rate *
/// (nesterov ? g + momentum * v : v).
class LOCKSTEP_API Sgd : public Optimizer {
 public:
  explicit Sgd(const ParameterList& parameters, const SgdOptions& options = {});
  explicit Sgd(std::span<const Group<SgdOptions>> groups);
};

}  // namespace lockstep::inline v0::optim
