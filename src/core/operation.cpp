#include <lockstep/core/operation.hpp>

#include <lockstep/core/error.hpp>

#include "core/tape.hpp"

namespace lockstep::inline v0::detail {

namespace {

std::vector<Saved> saved(const std::vector<Tensor>& tensors) {
  std::vector<Saved> list;
  list.reserve(tensors.size());
  for (const Tensor& tensor : tensors) list.push_back(tensor.defined() ? Saved(tensor) : Saved());
  return list;
}

std::vector<Tensor> values(const std::vector<Saved>& list) {
  std::vector<Tensor> tensors;
  tensors.reserve(list.size());
  for (const Saved& each : list) tensors.push_back(each.defined() ? each.value() : Tensor());
  return tensors;
}

class OperationNode final : public Node {
 public:
  OperationNode(const std::string& name, const Tensor& result,
                std::span<const Tensor* const> inputs, std::vector<Saved> input_values,
                const std::vector<Tensor>& further, OperationBackward backward)
      : Node(result, inputs),
        name_(name),
        result_(result),
        input_values_(std::move(input_values)),
        further_(saved(further)),
        backward_(std::move(backward)) {}

  const char* name() const noexcept override { return name_.c_str(); }
  void check_saved() const override {
    result_.check(name());
    for (const auto* list : {&input_values_, &further_})
      for (const Saved& each : *list) each.check(name());
  }
  void release_saved() noexcept override {
    result_.reset();
    input_values_.clear();
    further_.clear();
    backward_ = nullptr;
  }
  void backward(const Tensor& gradient) override {
    const NoGrad no_grad;
    const std::vector<Tensor> inputs = values(input_values_);
    std::vector<Tensor> gradients = backward_(gradient, result_.value(), inputs, values(further_));
    check(gradients, inputs);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      GradientSlot* slot = input(i);
      if (slot == nullptr || !gradients[i].defined()) continue;
      if (gradients[i].requires_grad()) gradients[i] = gradients[i].detach();
      slot->give(std::move(gradients[i]));
    }
  }

 private:
  void check(const std::vector<Tensor>& gradients, const std::vector<Tensor>& inputs) const {
    if (gradients.size() != inputs.size())
      throw InvalidUsage("backward of " + name_ + " returned " + std::to_string(gradients.size()) +
                         " gradients for " + std::to_string(inputs.size()) + " inputs");
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i].defined() && inputs[i].defined()) check(gradients[i], inputs[i], i);
  }

  void check(const Tensor& gradient, const Tensor& input, std::size_t i) const {
    const bool shape = gradient.shape() == input.shape();
    if (shape && gradient.dtype() == input.dtype() && gradient.device() == input.device()) return;
    const std::string what = "backward of " + name_ + ": the gradient of input " +
                             std::to_string(i) + " is " + describe(gradient) + " on " +
                             to_string(gradient.device()) + ", the input " + describe(input) +
                             " on " + to_string(input.device());
    if (!shape) throw ShapeError(what);
    throw InvalidUsage(what);
  }

  std::string name_;
  Saved result_;
  std::vector<Saved> input_values_;
  std::vector<Saved> further_;
  OperationBackward backward_;
};

}  // namespace

Tensor run_operation(const std::string& name, const std::vector<Tensor>& inputs,
                     const std::function<ResultAndSaved()>& forward, OperationBackward backward) {
  std::vector<const Tensor*> pointers;
  pointers.reserve(inputs.size());
  for (const Tensor& input : inputs) pointers.push_back(&input);
  const bool wanted = wants_tape(pointers);
  // Before forward, so that a forward that writes over its inputs is noticed too.
  std::vector<Saved> input_values = wanted ? saved(inputs) : std::vector<Saved>();
  ResultAndSaved output;
  {
    const NoGrad no_grad;
    output = forward();
  }
  if (!output.first.defined()) throw InvalidUsage(name + ": forward returned an undefined tensor");
  // A handle of its own: forward may return an input, which has its own place on the tape.
  Tensor result = output.first.detach();
  if (wanted && is_floating_point(result.dtype()))
    attach(result,
           detail::make_pooled<OperationNode>(name, result, pointers, std::move(input_values),
                                              output.second, std::move(backward)));
  return result;
}

}  // namespace lockstep::inline v0::detail
