// What all optimizers share: parameter groups over arenas, one fused pass per step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/core/parameter.hpp>

namespace lockstep::inline v0::optim {

namespace detail {
class OptimizerState;
}

/// Parameters that are updated with options of their own.
template <class Options>
struct Group {
  ParameterList parameters;
  Options options;
};

/// Packs its parameters into arenas unless they are in arenas already. Parameters without a
/// gradient are left alone (no decay, no moment, no step counted), as are frozen ones.
class LOCKSTEP_API Optimizer {
 public:
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  virtual ~Optimizer();

  /// Waits for gradients in flight (on the device, not on the host), then updates in one pass over
  /// each arena.
  void step();
  /// Forgets the gradients; the next backward overwrites them.
  void zero_grad();
  /// Number of calls of step().
  std::int64_t step_count() const noexcept;
  /// The parameters of all groups, in their order.
  const ParameterList& parameters() const noexcept;
  std::size_t group_count() const noexcept;
  double learning_rate(std::size_t group = 0) const;
  /// Takes effect at the next step.
  void set_learning_rate(double learning_rate);
  void set_learning_rate(std::size_t group, double learning_rate);

 protected:
  explicit Optimizer(std::unique_ptr<detail::OptimizerState> state) noexcept;
  std::unique_ptr<detail::OptimizerState> state_;
};

/// A norm that a device may still be computing: whoever uses it as a number waits for it.
class LOCKSTEP_API GradientNorm {
 public:
  explicit GradientNorm(double value) noexcept : value_(value) {}
  /// One float64.
  explicit GradientNorm(Tensor pending) noexcept : pending_(std::move(pending)) {}
  /// Synchronizes on a device.
  double value() const { return pending_.defined() ? pending_.item<double>() : value_; }
  operator double() const { return value(); }
  /// The norm as a tensor of one float64, where the gradients are. Does not synchronize.
  Tensor tensor() const;

 private:
  double value_ = 0;
  Tensor pending_;
};

/// Scales the gradients so that their norm over all parameters is at most `max_norm`, and returns
/// the norm before (of the mean over ranks, after unscaling). A parameter without gradient counts
/// as 0. Waits for gradients in flight (on a device, the device waits; the host goes on). PyTorch's
/// formula: factor = min(1, max_norm / (norm + 1e-6)).
LOCKSTEP_API GradientNorm clip_gradient_norm(const ParameterList& parameters, double max_norm);
/// The norm alone.
LOCKSTEP_API GradientNorm gradient_norm(const ParameterList& parameters);

}  // namespace lockstep::inline v0::optim
