// The unary operations: y = f(x), dx = f'(x) g, by the structs of core/unary_functions.hpp.
#include <algorithm>

#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"
#include "core/unary_functions.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

using backend::UnaryNumbers;
using backend::UnaryOperation;

class UnaryNode final : public Node {
 public:
  /// `saved`: x or the result, whichever the derivative is computed from.
  UnaryNode(const Tensor& result, const Tensor& x, UnaryOperation operation,
            const UnaryNumbers<double>& numbers, const Tensor& saved)
      : Node(result, {&x}), operation_(operation), numbers_(numbers), saved_(saved) {}
  const char* name() const noexcept override { return portable::name_of(operation_); }
  void check_saved() const override { saved_.check(name()); }
  void release_saved() noexcept override { saved_.reset(); }
  void backward(const Tensor& gradient) override {
    GradientSlot* slot = input(0);
    if (slot == nullptr) return;
    const Tensor saved = saved_.value();
    Tensor result = empty(saved.shape(), saved.dtype(), saved.device());
    backend_of(saved).elementwise.unary_backward(
        operation_, saved.dtype(), saved.raw_data(), gradient.raw_data(), numbers_,
        result.impl()->data(), saved.element_count(), queue_of(saved));
    slot->give(std::move(result));
  }

 private:
  UnaryOperation operation_;
  UnaryNumbers<double> numbers_;
  Saved saved_;
};

template <class Function>
Tensor unary(const Tensor& x, const UnaryNumbers<double>& numbers = {}) {
  check_computed(x, Function::kName);
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  backend_of(x).elementwise.unary(Function::kOperation, x.dtype(), x.raw_data(), numbers,
                                  result.impl()->data(), x.element_count(), queue_of(x));
  if (wants_tape({&x}))
    attach(result, detail::make_pooled<UnaryNode>(result, x, Function::kOperation, numbers,
                                                  Function::kFromResult ? result : x));
  return result;
}

}  // namespace
}  // namespace detail

Tensor abs(const Tensor& x) { return detail::unary<portable::Abs>(x); }
Tensor exp(const Tensor& x) { return detail::unary<portable::Exp>(x); }
Tensor gelu(const Tensor& x) { return detail::unary<portable::Gelu>(x); }
Tensor gelu_tanh(const Tensor& x) { return detail::unary<portable::GeluTanh>(x); }
Tensor log(const Tensor& x) { return detail::unary<portable::Log>(x); }
Tensor relu(const Tensor& x) { return detail::unary<portable::Relu>(x); }
Tensor sigmoid(const Tensor& x) { return detail::unary<portable::Sigmoid>(x); }
Tensor silu(const Tensor& x) { return detail::unary<portable::Silu>(x); }
Tensor sqrt(const Tensor& x) { return detail::unary<portable::Sqrt>(x); }
Tensor tanh(const Tensor& x) { return detail::unary<portable::Tanh>(x); }
Tensor pow(const Tensor& x, double exponent) {
  const double limited = std::clamp(exponent, -portable::kLargestPower, portable::kLargestPower);
  return detail::unary<portable::Pow>(x, {limited, limited - 1});
}
Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high))
    throw InvalidUsage("clamp: " + std::to_string(low) + " and " + std::to_string(high) +
                       " are not a lower and an upper bound");
  return detail::unary<portable::Clamp>(x, {low, high});
}

}  // namespace lockstep::inline v0
