// bce_with_logits, huber_loss and l1_loss: the sum or mean of f(x, t) over pairs of a prediction
// and a target, by the structs of core/loss_functions.hpp; dx = df/dx g (/ n), dt = df/dt g (/ n).
#include <lockstep/core/operations.hpp>

#include "core/loss_functions.hpp"
#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

using backend::PairLoss;

class PairLossNode final : public Node {
 public:
  PairLossNode(const Tensor& result, const Tensor& prediction, const Tensor& target,
               const PairLoss& loss)
      : Node(result, {&prediction, &target}),
        prediction_(prediction),
        target_(target),
        loss_(loss) {}
  const char* name() const noexcept override { return portable::name_of(loss_.kind); }
  void check_saved() const override {
    prediction_.check(name());
    target_.check(name());
  }
  void release_saved() noexcept override {
    prediction_.reset();
    target_.reset();
  }
  void backward(const Tensor& gradient) override {
    if (GradientSlot* slot = input(0)) slot->give(slope(gradient, false));
    if (GradientSlot* slot = input(1)) slot->give(slope(gradient, true));
  }

 private:
  Tensor slope(const Tensor& gradient, bool of_target) const {
    const Tensor prediction = prediction_.value();
    Tensor result = empty(prediction.shape(), prediction.dtype(), prediction.device());
    backend_of(prediction)
        .loss.pair_backward(prediction.dtype(), loss_, prediction.raw_data(),
                            target_.value().raw_data(), gradient.raw_data(), of_target,
                            result.impl()->data(), queue_of(prediction));
    return result;
  }

  Saved prediction_;
  Saved target_;
  PairLoss loss_;
};

template <class Function>
Tensor pair_loss(const Tensor& prediction, const Tensor& target, Reduction reduction,
                 double number = 0) {
  check_alike(prediction, target, Function::kName);
  if (!(prediction.shape() == target.shape())) throw_shapes(Function::kName, prediction, target);
  const std::int64_t count = prediction.element_count();
  const PairLoss loss{.kind = Function::kKind,
                      .count = count,
                      .factor = reduction_factor(reduction, count),
                      .number = number};
  Tensor result = empty(Shape{}, prediction.dtype(), prediction.device());
  backend_of(prediction)
      .loss.pair(prediction.dtype(), loss, prediction.raw_data(), target.raw_data(),
                 result.impl()->data(), queue_of(prediction));
  if (wants_tape({&prediction, &target}))
    attach(result, detail::make_pooled<PairLossNode>(result, prediction, target, loss));
  return result;
}

}  // namespace
}  // namespace detail

Tensor bce_with_logits(const Tensor& logits, const Tensor& targets, BceOptions options) {
  return detail::pair_loss<portable::BceWithLogits>(logits, targets, options.reduction,
                                                    options.positive_weight);
}

Tensor huber_loss(const Tensor& prediction, const Tensor& target, HuberOptions options) {
  if (!(options.delta > 0))
    throw InvalidUsage("huber_loss: delta is " + std::to_string(options.delta) +
                       ", and has to be above 0");
  return detail::pair_loss<portable::Huber>(prediction, target, options.reduction, options.delta);
}

Tensor l1_loss(const Tensor& prediction, const Tensor& target, L1Options options) {
  return detail::pair_loss<portable::L1>(prediction, target, options.reduction);
}

}  // namespace lockstep::inline v0
