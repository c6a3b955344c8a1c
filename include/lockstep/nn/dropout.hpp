// Dropout as a module.
#pragma once

#include <lockstep/core/random.hpp>

namespace lockstep::inline v0::nn {

/// While training, lockstep::dropout with the default generator, and so not for concurrent use; in
/// evaluation (lockstep::eval) it returns its argument. A new one trains.
class LOCKSTEP_API Dropout {
 public:
  /// `probability` of an element to become 0. @throws InvalidUsage outside [0, 1]
  explicit Dropout(double probability = 0.5);

  Tensor operator()(const Tensor& x) const;

  double probability() const noexcept { return probability_; }
  bool training() const noexcept { return training_; }
  void set_training(bool training) noexcept { training_ = training; }
  Dropout clone() const { return *this; }
  template <class Visitor>
  void visit(Visitor&&) {}

 private:
  double probability_;
  bool training_ = true;
};

}  // namespace lockstep::inline v0::nn
