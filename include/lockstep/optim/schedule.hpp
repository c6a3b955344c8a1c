// Learning-rate schedules: the rate of a step as a closed form, so that a run can be resumed at any
// step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <lockstep/optim/optimizer.hpp>

namespace lockstep::inline v0::optim {

/// (rate that the group was made with, number of steps done) -> rate of the coming step.
using RateFunction = std::function<double(double, std::int64_t)>;

struct StepDecayOptions {
  std::int64_t period = 1;  // steps from one decay to the next
  double factor = 0.1;
};
/// rate * factor^floor(step / period): PyTorch's StepLR. @throws InvalidUsage
LOCKSTEP_API RateFunction step_decay(const StepDecayOptions& options);

struct CosineOptions {
  std::int64_t steps = 1;          // of the whole schedule, warm-up included
  std::int64_t warm_up = 0;        // steps
  double warm_up_start = 1.0 / 3;  // of the rate, in step 0
  double minimum = 0;              // a rate
};
/// Rises linearly from warm_up_start * rate to the rate, then falls along half a cosine to the
/// minimum (Loshchilov & Hutter, arXiv:1608.03983) and stays there: PyTorch's LinearLR followed by
/// CosineAnnealingLR. @throws InvalidUsage
LOCKSTEP_API RateFunction cosine(const CosineOptions& options);

/// Sets an optimizer's learning rates before each step:
///
///   ls::optim::Schedule schedule{adam, ls::optim::cosine({.steps = 1000, .warm_up = 100})};
///   for (...) { ...; adam.step(); schedule.step(); }
///
/// Refers to the optimizer, which must stay where it is. A step that is recorded (CapturedStep) is
/// replayed with the rates of now; call step() outside of it.
class LOCKSTEP_API Schedule {
 public:
  /// One function for all groups, or one for each. The rates that the groups have now are those
  /// that the functions begin with; those of step 0 are set. @throws InvalidUsage
  Schedule(Optimizer& optimizer, const RateFunction& function);
  Schedule(Optimizer& optimizer, std::vector<RateFunction> functions);

  /// A step was done: sets the rates of the next.
  void step() { set_step_count(step_count_ + 1); }
  std::int64_t step_count() const noexcept { return step_count_; }
  /// Goes on as if so many steps had been done: make the optimizer and the schedule as for a new
  /// run, then call this. @throws InvalidUsage if negative
  void set_step_count(std::int64_t step_count);

 private:
  Optimizer* optimizer_;
  std::vector<RateFunction> functions_;
  std::vector<double> first_rates_;
  std::int64_t step_count_ = 0;
};

}  // namespace lockstep::inline v0::optim
