#include <lockstep/optim/adam.hpp>

#include <algorithm>
#include <utility>

#include "optim/optimizer_state.hpp"

namespace lockstep::inline v0::optim {

namespace detail {
namespace {

/// Adam and AdamW differ in where the decay goes.
backend::AdamSegment segment_of(const AdamOptions& options) {
  return {.learning_rate = options.learning_rate,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .l2_decay = options.weight_decay};
}

backend::AdamSegment segment_of(const AdamWOptions& options) {
  return {.learning_rate = options.learning_rate,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .decoupled_decay = options.weight_decay};
}

void check(const backend::AdamSegment& options, const char* name) {
  check_option(options.learning_rate >= 0, name, "learning_rate", options.learning_rate);
  check_option(options.beta1 >= 0 && options.beta1 < 1, name, "beta1", options.beta1);
  check_option(options.beta2 >= 0 && options.beta2 < 1, name, "beta2", options.beta2);
  check_option(options.epsilon >= 0, name, "epsilon", options.epsilon);
  const double decay = options.l2_decay + options.decoupled_decay;
  check_option(decay >= 0, name, "weight_decay", decay);
}

class AdamState final : public OptimizerState {
 public:
  template <class Options>
  AdamState(std::vector<ParameterList> groups, const std::vector<Options>& options,
            const char* name)
      : OptimizerState(std::move(groups)), name_(name) {
    for (const Options& group : options) {
      options_.push_back(segment_of(group));
      check(options_.back(), name_);
    }
  }

  double learning_rate(std::size_t group) const override {
    check_group(group);
    return options_[group].learning_rate;
  }
  void set_learning_rate(std::size_t group, double learning_rate) override {
    check_group(group);
    check_option(learning_rate >= 0, name_, "learning_rate", learning_rate);
    options_[group].learning_rate = learning_rate;
  }

 protected:
  std::vector<backend::AdamSegment> segments(const ArenaSlot& slot) const {
    return segments_of<backend::AdamSegment>(
        *slot.arena, [&](std::size_t i) { return due(slot, i); },
        [&](std::size_t i) {
          backend::AdamSegment segment = options_[static_cast<std::size_t>(slot.group[i])];
          segment.step = slot.steps[i];
          return segment;
        },
        std::all_of(options_.begin(), options_.end(),
                    [](const auto& group) { return group.epsilon > 0; }));
  }

  void update(ArenaSlot& slot) override {
    Arena& arena = *slot.arena;
    if (!slot.first_moment.defined()) {
      slot.first_moment = arena.companion();
      slot.second_moment = arena.companion();
    }
    lockstep::detail::backend_of(arena.values)
        .optimizer.adam(
            arena.dtype(),
            {.values = arena.values.impl()->data(),
             .gradients = arena.gradients.raw_data(),
             .first_moment = slot.first_moment.impl()->data(),
             .second_moment = slot.second_moment.impl()->data(),
             .gradient_scale = arena.factor,
             .device_scale = arena.device_factor_data()},
            segments(slot), lockstep::detail::queue_of(arena.values),
            again<backend::AdamSegment>(slot, [this, &slot] { return segments(slot); }));
  }

 private:
  const char* name_;
  std::vector<backend::AdamSegment> options_;
};

}  // namespace
}  // namespace detail

Adam::Adam(const ParameterList& parameters, const AdamOptions& options)
    : Optimizer(std::make_unique<detail::AdamState>(detail::one_list(parameters),
                                                    std::vector{options}, "Adam")) {}
Adam::Adam(std::span<const Group<AdamOptions>> groups)
    : Optimizer(std::make_unique<detail::AdamState>(detail::lists_of(groups),
                                                    detail::options_of(groups), "Adam")) {}

AdamW::AdamW(const ParameterList& parameters, const AdamWOptions& options)
    : Optimizer(std::make_unique<detail::AdamState>(detail::one_list(parameters),
                                                    std::vector{options}, "AdamW")) {}
AdamW::AdamW(std::span<const Group<AdamWOptions>> groups)
    : Optimizer(std::make_unique<detail::AdamState>(detail::lists_of(groups),
                                                    detail::options_of(groups), "AdamW")) {}

}  // namespace lockstep::inline v0::optim
