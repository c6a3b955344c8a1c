// dropout: y = kept ? x / (1 - p) : 0; dx = kept ? g / (1 - p) : 0, where the mask is drawn again
// from its position rather than kept in memory.
#include <cstring>

#include <lockstep/core/random.hpp>

#include "backend/capture.hpp"

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

/// The next place of the generator. A captured step gets one whose offset is drawn before each
/// replay.
backend::RandomPosition next_place(Generator& generator, const Tensor& x) {
  backend::RandomPosition place{.seed = generator.seed(), .stream = generator.stream()};
  const std::int64_t count = x.element_count();
  backend::Capture* capture = backend::current_capture();
  if (capture == nullptr || backend_of(x).host_reads) {
    place.offset = generator.reserve(count);
    return place;
  }
  place.device_offset = static_cast<const std::uint64_t*>(
      capture->upload_each_time(sizeof(std::uint64_t), [&generator, count](std::byte* bytes) {
        const std::uint64_t next = generator.reserve(count);
        std::memcpy(bytes, &next, sizeof next);
      }));
  return place;
}

class DropoutNode final : public Node {
 public:
  DropoutNode(const Tensor& result, const Tensor& x, const backend::RandomPosition& place,
              double probability)
      : Node(result, {&x}), place_(place), probability_(probability) {}
  const char* name() const noexcept override { return "dropout"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0)) x->give(dropped(gradient, place_, probability_));
  }

 private:
  backend::RandomPosition place_;
  double probability_;
};

}  // namespace
}  // namespace detail

Tensor dropout(const Tensor& x, double probability, Generator& generator) {
  detail::check_computed(x, "dropout");
  if (!(probability >= 0 && probability <= 1))
    throw InvalidUsage("dropout: " + std::to_string(probability) + " is no probability");
  const backend::RandomPosition place = detail::next_place(generator, x);
  Tensor result = detail::dropped(x, place, probability);
  if (detail::wants_tape({&x}))
    attach(result, detail::make_pooled<detail::DropoutNode>(result, x, place, probability));
  return result;
}

Tensor dropout(const Tensor& x, double probability) {
  return dropout(x, probability, default_generator());
}

}  // namespace lockstep::inline v0
