#include <lockstep/core/captured_step.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/log.hpp>

#include "backend/capture.hpp"
#include "backend/capture_refused.hpp"
#include "core/tensor_impl.hpp"

namespace lockstep::inline v0::detail {

namespace {

/// One recording, for inputs of given shapes.
struct Recorded {
  std::vector<Tensor> inputs;  // its own
  Tensor result;
  std::unique_ptr<backend::Recording> recording;
  int calls = 0;  // before it was recorded
};

bool same_kind(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.shape() == y.shape() && x.dtype() == y.dtype() && x.device() == y.device();
  });
}

}  // namespace

struct CapturedStepState::Members {
  Step step;
  CapturedStepOptions options;
  std::vector<Recorded> recorded;
  std::int64_t replays = 0;
  bool refused = false;
  bool warned_of_shapes = false;

  /// All inputs lie on one device that records: what a step copies there itself would be copied
  /// once and never again.
  bool recordable(const std::vector<Tensor>& inputs) {
    if (!options.enabled || refused) return false;
    const auto records = [](const Tensor& input) { return !backend_of(input).host_reads; };
    const auto first = std::find_if(inputs.begin(), inputs.end(), records);
    if (first == inputs.end()) return false;
    const auto elsewhere = std::find_if(inputs.begin(), inputs.end(), [&](const Tensor& input) {
      return input.device() != first->device();
    });
    if (elsewhere == inputs.end()) return true;
    log(LogLevel::warning, "a captured step was called with an input on " +
                               to_string(first->device()) + " and one on " +
                               to_string(elsewhere->device()) +
                               "; move them to one device before the call; it runs without "
                               "recording");
    refused = true;
    return false;
  }

  Recorded* find(const std::vector<Tensor>& inputs) {
    const auto it = std::find_if(recorded.begin(), recorded.end(), [&](const Recorded& known) {
      return same_kind(known.inputs, inputs);
    });
    if (it != recorded.end()) return &*it;
    if (recorded.size() >= static_cast<std::size_t>(options.recordings)) {
      if (!std::exchange(warned_of_shapes, true))
        log(LogLevel::warning, "a captured step was called with more than " +
                                   std::to_string(options.recordings) +
                                   " combinations of shapes; further ones run without recording");
      return nullptr;
    }
    Recorded fresh;
    for (const Tensor& input : inputs) fresh.inputs.push_back(input.detach());
    recorded.push_back(std::move(fresh));
    return &recorded.back();
  }

  /// False if the step refuses.
  bool record(Recorded& place) {
    for (Tensor& input : place.inputs) input = input.detach().clone();
    auto recording = backend::make_recording(place.inputs.front().device());
    try {
      recording->begin();
      place.result = step(place.inputs).detach();
      recording->end();
    } catch (const backend::CaptureRefused& refusal) {
      recording->abandon();
      log(LogLevel::warning, std::string(refusal.what()) + "; it runs without recording");
      refused = true;
      return false;
    } catch (...) {
      recording->abandon();
      throw;
    }
    place.recording = std::move(recording);
    return true;
  }
};

CapturedStepState::CapturedStepState(Step step, const CapturedStepOptions& options)
    : members_(std::make_unique<Members>(Members{std::move(step), options, {}})) {
  if (options.warm_up < 1 || options.recordings < 1)
    throw InvalidUsage("CapturedStep: warm_up and recordings are at least 1");
}
CapturedStepState::CapturedStepState(CapturedStepState&&) noexcept = default;
CapturedStepState& CapturedStepState::operator=(CapturedStepState&&) noexcept = default;
CapturedStepState::~CapturedStepState() = default;

std::int64_t CapturedStepState::replay_count() const noexcept { return members_->replays; }
bool CapturedStepState::refused() const noexcept { return members_->refused; }

Tensor CapturedStepState::run(const std::vector<Tensor>& inputs) {
  Members& own = *members_;
  for (const Tensor& input : inputs) checked(input, "CapturedStep");
  Recorded* place = own.recordable(inputs) ? own.find(inputs) : nullptr;
  if (place == nullptr) return own.step(inputs);
  if (place->recording == nullptr) {
    if (place->calls++ < own.options.warm_up) return own.step(inputs);
    if (!own.record(*place)) return own.step(inputs);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) place->inputs[i].copy_from(inputs[i]);
  place->recording->replay();
  ++own.replays;
  return place->result;
}

}  // namespace lockstep::inline v0::detail
