#include <lockstep/optim/schedule.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <lockstep/core/error.hpp>

#include "backend/optimizer_coefficients.hpp"
#include "core/portable_math.hpp"

namespace lockstep::inline v0::optim {

namespace {

void check(bool valid, const char* what, const std::string& value) {
  if (!valid) throw InvalidUsage(std::string(what) + " = " + value + " is out of range");
}

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

RateFunction step_decay(const StepDecayOptions& options) {
  check(options.period > 0, "step_decay: period", std::to_string(options.period));
  check(options.factor >= 0, "step_decay: factor", std::to_string(options.factor));
  return [options](double rate, std::int64_t step) {
    return rate * backend::power(options.factor, step / options.period);
  };
}

RateFunction cosine(const CosineOptions& options) {
  check(options.warm_up >= 0, "cosine: warm_up", std::to_string(options.warm_up));
  check(options.steps > options.warm_up, "cosine: steps", std::to_string(options.steps));
  check(options.warm_up_start >= 0, "cosine: warm_up_start", std::to_string(options.warm_up_start));
  check(options.minimum >= 0, "cosine: minimum", std::to_string(options.minimum));
  return [options](double rate, std::int64_t step) {
    if (step < options.warm_up) {
      const double start = options.warm_up_start;
      return rate * (start + (1 - start) * ratio(step, options.warm_up));
    }
    const double done =
        std::min(ratio(step - options.warm_up, options.steps - options.warm_up), 1.0);
    const double wave = portable::sine_cosine_of_turns(done / 2).cosine;
    return options.minimum + (rate - options.minimum) * (1 + wave) / 2;
  };
}

Schedule::Schedule(Optimizer& optimizer, const RateFunction& function)
    : Schedule(optimizer, std::vector<RateFunction>(optimizer.group_count(), function)) {}

Schedule::Schedule(Optimizer& optimizer, std::vector<RateFunction> functions)
    : optimizer_(&optimizer), functions_(std::move(functions)) {
  if (functions_.size() != optimizer.group_count())
    throw InvalidUsage("Schedule: " + std::to_string(functions_.size()) + " functions for " +
                       std::to_string(optimizer.group_count()) + " groups");
  for (std::size_t group = 0; group < functions_.size(); ++group) {
    if (!functions_[group])
      throw InvalidUsage("Schedule: the function of group " + std::to_string(group) + " is empty");
    first_rates_.push_back(optimizer.learning_rate(group));
  }
  set_step_count(0);
}

void Schedule::set_step_count(std::int64_t step_count) {
  check(step_count >= 0, "Schedule: step_count", std::to_string(step_count));
  step_count_ = step_count;
  for (std::size_t group = 0; group < functions_.size(); ++group)
    optimizer_->set_learning_rate(group, functions_[group](first_rates_[group], step_count));
}

}  // namespace lockstep::inline v0::optim
