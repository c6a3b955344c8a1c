// The numbers of an optimizer pass, rounded to the type of the arena. Plain data alone: vector code
// includes this.
#pragma once

namespace lockstep::inline v0::backend {

template <class T>
struct AdamCoefficients {
  T gradient_scale;
  T l2_decay;
  T keep;  // 1 - learning_rate * decoupled_decay
  T beta1;
  T one_minus_beta1;
  T beta2;
  T one_minus_beta2;
  T rate;        // learning_rate / (1 - beta1^t)
  T root_scale;  // 1 / sqrt(1 - beta2^t)
  T epsilon;
};

template <class T>
struct SgdCoefficients {
  T gradient_scale;
  T weight_decay;
  T momentum;
  T one_minus_dampening;
  T learning_rate;
  bool nesterov;
  bool first_step;
};

}  // namespace lockstep::inline v0::backend
