#include "core/arena.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::detail {

namespace {

constexpr std::int64_t kAlignment = 64;  // bytes

/// One line behind the trainable parameters, for the words that a replica exchanges with each step.
std::int64_t step_words(DType dtype) { return kAlignment / byte_size(dtype); }

std::int64_t padded(std::int64_t count, DType dtype) {
  const std::int64_t per_line = kAlignment / byte_size(dtype);
  return (count + per_line - 1) / per_line * per_line;
}

/// @throws InvalidUsage if moving the value would leave somebody behind.
void check_movable(const NamedParameter& named) {
  const auto& impl = named.parameter.value().impl();
  const std::string subject = "packing parameter " + named.name + ": ";
  if (impl->dtype != DType::float32 && impl->dtype != DType::float64)
    throw InvalidUsage(subject + "it is " + name(impl->dtype) +
                       "; parameters are float32 or float64, convert with to()");
  if (impl->storage->borrowed)
    throw InvalidUsage(subject +
                       "its value is borrowed memory, which would no longer be seen; clone() it");
  if (impl->storage.use_count() > 1)
    throw InvalidUsage(subject +
                       "a view of it or a tape that saved it is alive; make the replica or the "
                       "optimizer before the first forward pass and before taking views");
}

/// Trainable parameters in reverse order of registration, then the frozen ones.
std::vector<const NamedParameter*> arena_order(const std::vector<const NamedParameter*>& list) {
  std::vector<const NamedParameter*> order;
  for (const bool frozen : {false, true})
    for (auto it = list.rbegin(); it != list.rend(); ++it)
      if ((*it)->parameter.frozen() == frozen) order.push_back(*it);
  return order;
}

/// Memory for these parameters; nothing is moved yet.
struct Plan {
  std::shared_ptr<Arena> arena;
  std::vector<const NamedParameter*> order;
};

Plan make_plan(const std::vector<const NamedParameter*>& list, DType dtype, Device device) {
  Plan plan{nullptr, arena_order(list)};
  std::int64_t total = 0;
  for (const NamedParameter* named : plan.order) {
    total += padded(named->parameter.value().element_count(), dtype);
    const auto& impl = named->parameter.value().impl();
    if (impl->leaf != nullptr) continue;  // frozen from the start
    impl->leaf = std::make_shared<Leaf>(impl->shape, dtype, device);
    impl->leaf->enabled = false;
  }
  total += step_words(dtype);
  plan.arena = std::make_shared<Arena>(dtype, device, total);
  plan.arena->entries.reserve(plan.order.size());
  return plan;
}

void move_in(const Plan& plan) {
  const auto& [arena, order] = plan;
  const DType dtype = arena->dtype();
  std::int64_t begin = 0;
  arena->words_begin = -1;
  for (const NamedParameter* named : order) {
    const auto& impl = named->parameter.value().impl();
    if (arena->words_begin < 0 && !impl->leaf->enabled) {
      arena->words_begin = begin;
      begin += step_words(dtype);
    }
    const std::int64_t count = impl->shape.element_count();
    const std::int64_t end = begin + padded(count, dtype);
    Tensor place = slice_of(arena->values, begin, count);
    place.copy_from(make_tensor(impl->storage, Shape{count}, dtype).to(arena->device()));
    impl->storage = place.impl()->storage;
    const Tensor gradient = slice_of(arena->gradients, begin, count);
    Leaf& leaf = *impl->leaf;
    leaf.move_to(make_tensor(gradient.impl()->storage, impl->shape, dtype));
    leaf.keep_arena = arena;
    leaf.arena = arena.get();
    leaf.arena_index = arena->entries.size();
    arena->entries.push_back({named->name, &leaf, impl->storage, begin, count, end});
    begin = end;
  }
  if (arena->words_begin < 0) arena->words_begin = begin;
}

}  // namespace

Arena::Arena(DType dtype, Device device, std::int64_t count)
    : values(zeros(Shape{count}, dtype, device)), gradients(zeros(Shape{count}, dtype, device)) {}

Tensor Arena::companion() const { return zeros(Shape{count()}, dtype(), device()); }

void Arena::wait() {
  if (abandoned && any_filled())
    throw InvalidUsage("the replica of parameter " + entries.front().name +
                       " went away while its gradients were being exchanged, so they are of no "
                       "use; zero them and run backward again");
  if (listener != nullptr) listener->wait();
}

void Arena::begin_backward() {
  settle();
  clear_abandoned();
}

void Arena::clear_abandoned() {
  if (abandoned) std::exchange(abandoned, nullptr)();
}

void Arena::settle() {
  wait();
  apply_factors();
}

void Arena::apply_factors() {
  const auto& backend = backend_of(gradients);
  if (factor != 1)
    backend.elementwise.scale(dtype(), factor, gradients.mutable_raw_data(), count(),
                              queue_of(gradients));
  if (device_factor.defined())
    backend.scalars.scale(dtype(), device_factor_data(), gradients.mutable_raw_data(), count(),
                          queue_of(gradients));
  forget_factors();
}

void Arena::forget_factors() {
  factor = 1;
  device_factor = {};
}

const double* Arena::device_factor_data() const {
  return device_factor.defined() ? static_cast<const double*>(device_factor.raw_data()) : nullptr;
}

bool Arena::any_filled() const {
  return std::any_of(entries.begin(), entries.end(),
                     [](const ArenaEntry& entry) { return entry.filled(); });
}

void Arena::forget_factor_if_empty() {
  if (scaled() && !any_filled()) forget_factors();
}

std::vector<std::shared_ptr<Arena>> pack(const ParameterList& parameters, Device device) {
  std::vector<const NamedParameter*> loose;
  for (const auto& named : parameters) {
    const auto& impl = named.parameter.value().impl();
    if (impl->leaf != nullptr && impl->leaf->arena != nullptr) {
      if (!(impl->leaf->arena->device() == device))
        throw InvalidUsage("parameter " + named.name + " is packed on " +
                           to_string(impl->leaf->arena->device()) + " already, not on " +
                           to_string(device));
      continue;
    }
    check_movable(named);
    loose.push_back(&named);
  }
  std::vector<Plan> plans;
  while (!loose.empty()) {
    const DType dtype = loose.front()->parameter.value().dtype();
    const auto rest = std::stable_partition(
        loose.begin(), loose.end(),
        [&](const NamedParameter* named) { return named->parameter.value().dtype() == dtype; });
    plans.push_back(make_plan({loose.begin(), rest}, dtype, device));
    loose.erase(loose.begin(), rest);
  }
  for (const Plan& plan : plans) move_in(plan);
  if (!plans.empty()) backend::backend_for(device).memory.trim();

  std::vector<std::shared_ptr<Arena>> arenas;
  for (const auto& named : parameters) {
    const auto& arena = named.parameter.value().impl()->leaf->keep_arena;
    if (std::find(arenas.begin(), arenas.end(), arena) == arenas.end()) arenas.push_back(arena);
  }
  return arenas;
}

}  // namespace lockstep::inline v0::detail
