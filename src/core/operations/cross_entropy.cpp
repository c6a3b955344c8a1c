// cross_entropy: -log softmax(x)[label], fused; dx = (softmax - one_hot) g / divisor, the one_hot
// being smoothed if that is asked for.
#include <lockstep/core/operations.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

class CrossEntropyNode final : public Node {
 public:
  CrossEntropyNode(const Tensor& result, const backend::CrossEntropyShape& shape,
                   const Tensor& logits, const Tensor& labels, const Tensor& softmax,
                   const Tensor& divisor)
      : Node(result, {&logits}),
        shape_(shape),
        labels_(labels),
        softmax_(softmax),
        divisor_(divisor) {}
  const char* name() const noexcept override { return "cross_entropy"; }
  void check_saved() const override { labels_.check(name()); }
  void release_saved() noexcept override {
    labels_.reset();
    softmax_ = {};
    divisor_ = {};
  }
  void backward(const Tensor& gradient) override {
    GradientSlot* logits = input(0);
    if (logits == nullptr) return;
    const Tensor labels = labels_.value();
    Tensor result = empty(logits->shape(), gradient.dtype(), gradient.device());
    backend_of(gradient).loss.cross_entropy_backward(
        gradient.dtype(), shape_, softmax_.raw_data(),
        static_cast<const std::int64_t*>(labels.raw_data()), gradient.raw_data(),
        divisor_.raw_data(), result.impl()->data(), queue_of(gradient));
    logits->give(std::move(result));
  }

 private:
  backend::CrossEntropyShape shape_;
  Saved labels_;
  Tensor softmax_;
  Tensor divisor_;
};

void check(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options) {
  check_computed(logits, "cross_entropy");
  checked(labels, "cross_entropy");
  if (labels.dtype() != DType::int64)
    throw InvalidUsage(std::string("cross_entropy: labels are int64; these are ") +
                       name(labels.dtype()));
  if (!(labels.device() == logits.device()))
    throw InvalidUsage("cross_entropy: logits are on " + to_string(logits.device()) +
                       ", labels on " + to_string(labels.device()));
  if (logits.shape().axes() != 2 || labels.shape().axes() != 1 ||
      logits.shape()[0] != labels.shape()[0])
    throw ShapeError("cross_entropy: logits (batch, classes) " + to_string(logits.shape()) +
                     " and labels (batch) " + to_string(labels.shape()) + " do not fit");
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw InvalidUsage("cross_entropy: a label smoothing of " +
                       std::to_string(options.label_smoothing) + " is outside [0, 1]");
}

}  // namespace
}  // namespace detail

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, CrossEntropyOptions options) {
  detail::check(logits, labels, options);
  const backend::CrossEntropyShape shape{.rows = logits.shape()[0],
                                         .classes = logits.shape()[1],
                                         .ignore_index = options.ignore_index,
                                         .mean = options.reduction == Reduction::mean,
                                         .label_smoothing = options.label_smoothing};
  Tensor result = empty(Shape{}, logits.dtype(), logits.device());
  Tensor softmax = empty(logits.shape(), logits.dtype(), logits.device());
  Tensor divisor = empty(Shape{}, logits.dtype(), logits.device());
  detail::backend_of(logits).loss.cross_entropy(
      logits.dtype(), shape, logits.raw_data(), labels.data<std::int64_t>(), result.impl()->data(),
      softmax.impl()->data(), divisor.impl()->data(), detail::queue_of(logits));
  if (detail::wants_tape({&logits}))
    attach(result, detail::make_pooled<detail::CrossEntropyNode>(result, shape, logits, labels,
                                                                 softmax, divisor));
  return result;
}

}  // namespace lockstep::inline v0
