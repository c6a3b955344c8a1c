#include <lockstep/optim/sgd.hpp>

#include <algorithm>
#include <utility>

#include "optim/optimizer_state.hpp"

namespace lockstep::inline v0::optim {

namespace detail {
namespace {

class SgdState final : public OptimizerState {
 public:
  SgdState(std::vector<ParameterList> groups, std::vector<SgdOptions> options)
      : OptimizerState(std::move(groups)), options_(std::move(options)) {
    for (const SgdOptions& group : options_) {
      check_option(group.learning_rate >= 0, "Sgd", "learning_rate", group.learning_rate);
      check_option(group.momentum >= 0, "Sgd", "momentum", group.momentum);
      check_option(group.weight_decay >= 0, "Sgd", "weight_decay", group.weight_decay);
      if (group.nesterov && (group.momentum <= 0 || group.dampening != 0))
        throw InvalidUsage("Sgd: nesterov needs a momentum and no dampening");
    }
  }

  double learning_rate(std::size_t group) const override {
    check_group(group);
    return options_[group].learning_rate;
  }
  void set_learning_rate(std::size_t group, double learning_rate) override {
    check_group(group);
    check_option(learning_rate >= 0, "Sgd", "learning_rate", learning_rate);
    options_[group].learning_rate = learning_rate;
  }

 protected:
  std::vector<backend::SgdSegment> segments(const ArenaSlot& slot) const {
    return segments_of<backend::SgdSegment>(
        *slot.arena, [&](std::size_t i) { return due(slot, i); },
        [&](std::size_t i) {
          const SgdOptions& group = options_[static_cast<std::size_t>(slot.group[i])];
          return backend::SgdSegment{.learning_rate = group.learning_rate,
                                     .momentum = group.momentum,
                                     .dampening = group.momentum == 0 ? 0 : group.dampening,
                                     .weight_decay = group.weight_decay,
                                     .nesterov = group.nesterov,
                                     .first_step = slot.steps[i] == 1};
        });
  }

  void update(ArenaSlot& slot) override {
    Arena& arena = *slot.arena;
    const bool momentum = std::any_of(options_.begin(), options_.end(),
                                      [](const SgdOptions& group) { return group.momentum != 0; });
    if (momentum && !slot.first_moment.defined()) slot.first_moment = arena.companion();
    lockstep::detail::backend_of(arena.values)
        .optimizer.sgd(arena.dtype(),
                       {.values = arena.values.impl()->data(),
                        .gradients = arena.gradients.raw_data(),
                        .first_moment = momentum ? slot.first_moment.impl()->data() : nullptr,
                        .gradient_scale = arena.factor,
                        .device_scale = arena.device_factor_data()},
                       segments(slot), lockstep::detail::queue_of(arena.values),
                       again<backend::SgdSegment>(slot, [this, &slot] { return segments(slot); }));
  }

 private:
  std::vector<SgdOptions> options_;
};

}  // namespace
}  // namespace detail

Sgd::Sgd(const ParameterList& parameters, const SgdOptions& options)
    : Optimizer(
          std::make_unique<detail::SgdState>(detail::one_list(parameters), std::vector{options})) {}
Sgd::Sgd(std::span<const Group<SgdOptions>> groups)
    : Optimizer(std::make_unique<detail::SgdState>(detail::lists_of(groups),
                                                   detail::options_of(groups))) {}

}  // namespace lockstep::inline v0::optim
