// CapturedStep: a training step that a device records once and then replays with one launch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

struct CapturedStepOptions {
  /// Calls that run as they are before the first recording: memory, moments and communicators are
  /// made in them. At least 1.
  int warm_up = 2;
  /// Recordings that are kept, one per combination of input shapes; beyond that a step runs as it
  /// is.
  int recordings = 4;
  bool enabled = true;
};

namespace detail {

class LOCKSTEP_API CapturedStepState {
 public:
  using Step = std::function<Tensor(const std::vector<Tensor>&)>;
  CapturedStepState(Step step, const CapturedStepOptions& options);
  CapturedStepState(CapturedStepState&&) noexcept;
  CapturedStepState& operator=(CapturedStepState&&) noexcept;
  ~CapturedStepState();

  Tensor run(const std::vector<Tensor>& inputs);
  std::int64_t replay_count() const noexcept;
  bool refused() const noexcept;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

template <class>
struct StepSignature;
template <class Result, class... Inputs>
struct StepSignature<std::function<Result(Inputs...)>> {
  using Type = Result(std::remove_cvref_t<Inputs>...);
};

}  // namespace detail

/// Wraps a step, a function of tensors that returns a tensor (the loss):
///
///   ls::CapturedStep step{[&](const ls::Tensor& x, const ls::Tensor& labels) {
///     ls::Tensor loss = ls::cross_entropy(replica(x), labels);
///     adam.zero_grad(); loss.backward(); adam.step();
///     return loss;
///   }};
///   ls::Tensor loss = step(batch.inputs, batch.targets);
///
/// On CUDA the step is recorded after the warm-up and replayed from then on: the same numbers, bit
/// for bit, with one launch in place of dozens. Inputs are copied into the recording's own; the
/// result is valid until the next call. What changes from step to step is taken into account:
/// learning rates, step counts, dropout, clipping. The step must do the same operations in each
/// call: branches on the host, new host numbers and hooks are as they were when it was recorded.
/// A step that reads a value back, draws random numbers other than dropout, has inputs on several
/// devices, or finds no memory for a recording is not recorded: it runs as it is, after one
/// warning. So does every step on the CPU, without one. Destroy it before the environment is
/// closed.
template <class Signature>
class CapturedStep;

template <class... Inputs>
class CapturedStep<Tensor(Inputs...)> {
 public:
  explicit CapturedStep(std::function<Tensor(const Inputs&...)> step,
                        const CapturedStepOptions& options = {})
      : state_(
            [step = std::move(step)](const std::vector<Tensor>& inputs) {
              return call(step, inputs, std::index_sequence_for<Inputs...>());
            },
            options) {}

  Tensor operator()(const Inputs&... inputs) { return state_.run({inputs...}); }
  /// Steps that were replays.
  std::int64_t replay_count() const noexcept { return state_.replay_count(); }
  /// Whether the step could not be recorded and runs as it is.
  bool refused() const noexcept { return state_.refused(); }

 private:
  template <class Step, std::size_t... kIndexes>
  static Tensor call(const Step& step, const std::vector<Tensor>& inputs,
                     std::index_sequence<kIndexes...>) {
    return step(inputs[kIndexes]...);
  }

  detail::CapturedStepState state_;
};

template <class Step>
CapturedStep(Step, CapturedStepOptions = {}) -> CapturedStep<
    typename detail::StepSignature<decltype(std::function(std::declval<Step>()))>::Type>;

}  // namespace lockstep::inline v0
