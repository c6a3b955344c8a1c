// operation: a differentiable operation of the program's own, made of a forward and a backward.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

namespace detail {

/// The result of a forward, and what its backward needs beside that and the inputs.
using ResultAndSaved = std::pair<Tensor, std::vector<Tensor>>;
/// (gradient, result, inputs, saved) -> one gradient per input.
using OperationBackward = std::function<std::vector<Tensor>(
    const Tensor&, const Tensor&, const std::vector<Tensor>&, const std::vector<Tensor>&)>;

/// Calls forward without the tape, and records its result if an input wants a gradient.
LOCKSTEP_API Tensor run_operation(const std::string& name, const std::vector<Tensor>& inputs,
                                  const std::function<ResultAndSaved()>& forward,
                                  OperationBackward backward);

/// What forward is called with for one input; an alias would lose the pack under nvcc.
template <class>
struct ArgumentFor {
  using Type = const Tensor&;
};

/// What a backward of so many inputs returned, as a list.
template <std::size_t kInputs, class Gradients>
std::vector<Tensor> gradient_list(Gradients gradients) {
  if constexpr (std::is_same_v<Gradients, std::vector<Tensor>>) {
    return gradients;
  } else if constexpr (std::is_same_v<Gradients, Tensor>) {
    static_assert(kInputs == 1, "backward returns one gradient per input");
    return {std::move(gradients)};
  } else {
    static_assert(std::tuple_size_v<Gradients> == kInputs,
                  "backward returns one gradient per input");
    return std::apply([](auto&... each) { return std::vector<Tensor>{std::move(each)...}; },
                      gradients);
  }
}

}  // namespace detail

/// What operation() returns: called with tensors or parameters like an operation of the library.
/// Copies share the two functions.
template <class Forward, class Backward>
class Operation {
 public:
  Operation(Forward forward, Backward backward, std::string name)
      : functions_(std::make_shared<Functions>(
            Functions{std::move(forward), std::move(backward), std::move(name)})) {}

  template <std::convertible_to<const Tensor&>... Inputs>
  Tensor operator()(const Inputs&... inputs) const {
    static_assert(std::is_invocable_v<Forward&, typename detail::ArgumentFor<Inputs>::Type...>,
                  "forward takes as many tensors as the operation is called with");
    using Result = std::invoke_result_t<Forward&, typename detail::ArgumentFor<Inputs>::Type...>;
    constexpr bool kSaves = !std::is_convertible_v<Result, Tensor>;
    return detail::run_operation(
        functions_->name, {static_cast<const Tensor&>(inputs)...},
        [&]() -> detail::ResultAndSaved {
          if constexpr (kSaves)
            return functions_->forward(static_cast<const Tensor&>(inputs)...);
          else
            return {functions_->forward(static_cast<const Tensor&>(inputs)...), {}};
        },
        backward_of<kSaves>(std::index_sequence_for<Inputs...>()));
  }

 private:
  struct Functions {
    Forward forward;
    Backward backward;
    std::string name;
  };

  template <bool kSaves, std::size_t... kIndexes>
  detail::OperationBackward backward_of(std::index_sequence<kIndexes...>) const {
    return [functions = functions_](const Tensor& gradient, const Tensor& result,
                                    const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& saved) {
      constexpr std::size_t kInputs = sizeof...(kIndexes);
      if constexpr (kSaves)
        return detail::gradient_list<kInputs>(
            functions->backward(gradient, result, inputs[kIndexes]..., saved));
      else
        return detail::gradient_list<kInputs>(
            functions->backward(gradient, result, inputs[kIndexes]...));
    };
  }

  std::shared_ptr<Functions> functions_;
};

/// A differentiable operation from two functions of the program:
///
///   forward(inputs...) -> result, or -> std::pair{result, std::vector{further tensors to save}}
///   backward(gradient, result, inputs...[, saved]) -> the gradients of the inputs
///
/// of any number of tensors. The gradients come as a std::pair, std::tuple or std::vector of
/// tensors, or as one tensor for one input; an undefined tensor is no gradient. Each has shape,
/// dtype and device of its input. Both functions run without the tape, on the queue of this thread,
/// and must not write to what they are given. All that backward is given counts as saved: if it is
/// written to after the forward, Tensor::backward refuses. What the functions throw goes through to
/// the caller. `name` is for messages.
/// @throws InvalidUsage, ShapeError from Tensor::backward for gradients that do not fit
template <class Forward, class Backward>
Operation<Forward, Backward> operation(Forward forward, Backward backward,
                                       std::string name = "operation") {
  return {std::move(forward), std::move(backward), std::move(name)};
}

}  // namespace lockstep::inline v0
