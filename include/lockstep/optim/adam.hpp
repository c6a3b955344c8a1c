// Adam (Kingma & Ba, arXiv:1412.6980) and AdamW (Loshchilov & Hutter, arXiv:1711.05101).
#pragma once

#include <lockstep/optim/optimizer.hpp>

namespace lockstep::inline v0::optim {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;    // added after the bias-corrected root
  double weight_decay = 0;  // added to the gradient (L2)
};

/// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= rate * m^ / (sqrt(v^) + epsilon), m^ = m /
/// (1-b1^t), v^ = v / (1-b2^t).
class LOCKSTEP_API Adam : public Optimizer {
 public:
  explicit Adam(const ParameterList& parameters, const AdamOptions& options = {});
  explicit Adam(std::span<const Group<AdamOptions>> groups);
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;  // decoupled: w -= rate * decay * w, before the update
};

class LOCKSTEP_API AdamW : public Optimizer {
 public:
  explicit AdamW(const ParameterList& parameters, const AdamWOptions& options = {});
  explicit AdamW(std::span<const Group<AdamWOptions>> groups);
};

}  // namespace lockstep::inline v0::optim
