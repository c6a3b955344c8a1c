// dropout: y = kept ? x / (1 - p) : 0; dx = kept ? g / (1 - p) : 0, where the mask is drawn again
// from its position rather than kept in memory.
#include <lockstep/core/random.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

Tensor dropped(const Tensor& x, const backend::RandomPosition& position, double probability) {
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  backend_of(x).random.dropout(x.dtype(), position, probability, x.raw_data(),
                               result.impl()->data(), x.element_count(), queue_of(x));
  return result;
}

class DropoutNode final : public Node {
 public:
  DropoutNode(const Tensor& result, const Tensor& x, const backend::RandomPosition& position,
              double probability)
      : Node(result, {&x}), position_(position), probability_(probability) {}
  const char* name() const noexcept override { return "dropout"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0)) x->give(dropped(gradient, position_, probability_));
  }

 private:
  backend::RandomPosition position_;
  double probability_;
};

}  // namespace
}  // namespace detail

Tensor dropout(const Tensor& x, double probability, Generator& generator) {
  detail::check_computed(x, "dropout");
  if (!(probability >= 0 && probability <= 1))
    throw InvalidUsage("dropout: " + std::to_string(probability) + " is no probability");
  backend::RandomPosition position{.seed = generator.seed(), .stream = generator.stream()};
  position.offset = generator.reserve(x.element_count());
  Tensor result = detail::dropped(x, position, probability);
  if (detail::wants_tape({&x}))
    attach(result, std::make_shared<detail::DropoutNode>(result, x, position, probability));
  return result;
}

Tensor dropout(const Tensor& x, double probability) {
  return dropout(x, probability, default_generator());
}

}  // namespace lockstep::inline v0
