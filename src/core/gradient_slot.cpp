#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

#include "core/arena.hpp"
#include "core/tape.hpp"

namespace lockstep::inline v0::detail {

namespace {

/// Whether nobody else can see this tensor's memory.
bool unshared(const Tensor& tensor) {
  return tensor.impl().use_count() == 1 && tensor.impl()->storage.use_count() == 1 &&
         tensor.impl()->storage->allocated;
}

}  // namespace

void add_to(const Tensor& source, const Tensor& destination) {
  auto& elementwise = backend_of(destination).elementwise;
  const backend::Queue queue = queue_of(destination);
  const DType dtype = destination.dtype();
  const std::int64_t count = destination.element_count();
  void* sum = destination.impl()->data();
  if (dtype == DType::float32 || dtype == DType::float64)
    return elementwise.add_scaled(dtype, 1.0, source.raw_data(), sum, count, queue);
  const void* terms[] = {sum, source.raw_data()};
  elementwise.fold_sum(dtype, terms, 2, sum, count, queue);
}

const Tensor& GradientSlot::fixed_place() const noexcept {
  static const Tensor none;
  return none;
}

void GradientSlot::give(Tensor gradient) {
  if (!(gradient.shape() == shape_))
    throw ShapeError("a gradient of shape " + to_string(gradient.shape()) +
                     " was given to a value of shape " + to_string(shape_));
  if (!filled_) {
    if (fixed_place().defined()) {
      gradient_ = fixed_place();
      gradient_.copy_from(gradient);
    } else if (as_leaf() != nullptr && !unshared(gradient)) {
      gradient_ = gradient.clone();  // a leaf's gradient is the user's to change
    } else {
      gradient_ = std::move(gradient);
    }
    filled_ = true;
    return;
  }
  if (fixed_place().defined() || unshared(gradient_)) {
    add_to(gradient, gradient_);
    return;
  }
  Tensor sum = gradient_.clone();
  add_to(gradient, sum);
  gradient_ = std::move(sum);
}

GradientSlot::Destination GradientSlot::destination() {
  if (!filled_) {
    gradient_ = fixed_place().defined() ? fixed_place() : empty(shape_, dtype_, device_);
    filled_ = true;
    return {gradient_, false};
  }
  if (!fixed_place().defined() && !unshared(gradient_)) gradient_ = gradient_.clone();
  return {gradient_, true};
}

Leaf::~Leaf() {
  if (arena != nullptr) arena->entries[arena_index].leaf = nullptr;
}

Tensor Leaf::read() {
  if (arena != nullptr) arena->settle();
  if (!filled_)
    throw InvalidUsage("gradient() of " + to_string(shape_) +
                       ": no backward has brought a gradient here since it was made or zeroed");
  return gradient_;
}

void Leaf::clear() {
  if (!filled_) return;
  filled_ = false;
  gradient_ = {};
  if (arena != nullptr) arena->forget_factor_if_empty();
}

void Leaf::move_to(Tensor place) {
  if (filled_) {
    place.copy_from(gradient_.to(place.device()));
    gradient_ = place;
  }
  device_ = place.device();
  place_ = std::move(place);
}

}  // namespace lockstep::inline v0::detail
