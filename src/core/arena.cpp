#include "core/arena.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::detail {

namespace {

constexpr std::int64_t kAlignment = 64;  // bytes

std::int64_t padded(std::int64_t count, DType dtype) {
  const std::int64_t per_line = kAlignment / byte_size(dtype);
  return (count + per_line - 1) / per_line * per_line;
}

/// @throws InvalidUsage if moving the value would leave somebody behind.
void check_movable(const NamedParameter& named) {
  const auto& impl = named.parameter.value().impl();
  const std::string subject = "packing parameter " + named.name + ": ";
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

std::shared_ptr<Arena> pack_one(const std::vector<const NamedParameter*>& list, DType dtype,
                                Device device) {
  const auto order = arena_order(list);
  std::int64_t total = 0;
  for (const NamedParameter* named : order)
    total += padded(named->parameter.value().element_count(), dtype);
  auto arena = std::make_shared<Arena>(dtype, device, total);
  std::int64_t begin = 0;
  for (const NamedParameter* named : order) {
    const auto& impl = named->parameter.value().impl();
    const std::int64_t count = impl->shape.element_count();
    const std::int64_t end = begin + padded(count, dtype);
    Tensor place = slice_of(arena->values, begin, count);
    place.copy_from(make_tensor(impl->storage, Shape{count}, dtype));
    impl->storage = place.impl()->storage;
    if (impl->leaf == nullptr) {  // frozen from the start
      impl->leaf = std::make_shared<Leaf>(impl->shape, dtype, device);
      impl->leaf->enabled = false;
    }
    impl->leaf->keep_arena = arena;
    impl->leaf->arena = arena.get();
    impl->leaf->arena_index = arena->entries.size();
    arena->entries.push_back({named->name, impl->leaf.get(), impl->storage, begin, count, end});
    begin = end;
  }
  return arena;
}

/// Gradients come second, so that the memory of the old values is free again by then.
void add_gradients(const std::shared_ptr<Arena>& arena) {
  arena->gradients = arena->companion();
  for (const ArenaEntry& entry : arena->entries) {
    const Tensor flat = slice_of(arena->gradients, entry.begin, entry.count);
    entry.leaf->move_to(make_tensor(flat.impl()->storage, entry.leaf->shape(), arena->dtype()));
  }
}

}  // namespace

Arena::Arena(DType dtype, Device device, std::int64_t count)
    : values(zeros(Shape{count}, dtype, device)) {}

Tensor Arena::companion() const { return zeros(Shape{count()}, dtype(), device()); }

void Arena::wait() {
  if (listener != nullptr) listener->wait();
}

void Arena::settle() {
  wait();
  if (factor == 1) return;
  backend_of(gradients).elementwise.scale(dtype(), factor, gradients.mutable_raw_data(), count(),
                                          queue_of(gradients));
  factor = 1;
}

bool Arena::any_filled() const {
  return std::any_of(entries.begin(), entries.end(),
                     [](const ArenaEntry& entry) { return entry.filled(); });
}

void Arena::forget_factor_if_empty() {
  if (factor != 1 && !any_filled()) factor = 1;
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
  std::vector<std::shared_ptr<Arena>> fresh;
  while (!loose.empty()) {
    const DType dtype = loose.front()->parameter.value().dtype();
    const auto rest = std::stable_partition(
        loose.begin(), loose.end(),
        [&](const NamedParameter* named) { return named->parameter.value().dtype() == dtype; });
    fresh.push_back(pack_one({loose.begin(), rest}, dtype, device));
    loose.erase(loose.begin(), rest);
  }
  if (!fresh.empty()) backend::backend_for(device).memory.trim();
  for (const auto& arena : fresh) add_gradients(arena);

  std::vector<std::shared_ptr<Arena>> arenas;
  for (const auto& named : parameters) {
    const auto& arena = named.parameter.value().impl()->leaf->keep_arena;
    if (std::find(arenas.begin(), arenas.end(), arena) == arenas.end()) arenas.push_back(arena);
  }
  return arenas;
}

}  // namespace lockstep::inline v0::detail
