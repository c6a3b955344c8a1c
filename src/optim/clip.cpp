// Clipping by global norm.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/optim/optimizer.hpp>

#include "backend/capture.hpp"
#include "core/arena.hpp"

namespace lockstep::inline v0::optim {

namespace {

using lockstep::detail::Arena;
using lockstep::detail::backend_of;
using lockstep::detail::Leaf;
using lockstep::detail::queue_of;

Leaf* leaf_of(const NamedParameter& named) {
  Leaf* leaf = named.parameter.value().impl()->leaf.get();
  return leaf != nullptr && leaf->filled() ? leaf : nullptr;
}

/// The arenas of the list, in order of first appearance; all exchanges waited for.
std::vector<Arena*> waited_arenas(const ParameterList& parameters) {
  std::vector<Arena*> arenas;
  for (const auto& named : parameters) {
    const auto& leaf = named.parameter.value().impl()->leaf;
    if (leaf == nullptr || leaf->arena == nullptr) continue;
    if (std::find(arenas.begin(), arenas.end(), leaf->arena) == arenas.end())
      arenas.push_back(leaf->arena);
  }
  for (Arena* arena : arenas) arena->wait();
  return arenas;
}

using LeafSet = std::unordered_set<const Leaf*>;

LeafSet filled_leaves(const ParameterList& parameters) {
  LeafSet leaves;
  for (const auto& named : parameters)
    if (const Leaf* leaf = leaf_of(named)) leaves.insert(leaf);
  return leaves;
}

/// A running sum of squares, of one arena or of the gradients outside of any.
struct Sum {
  Arena* arena;
  Tensor squares;  // one float64 on the device of the gradients
};

void add_squares(const Tensor& gradient, Tensor& squares) {
  backend_of(gradient).reduction.add_sum_of_squares(gradient.dtype(), gradient.raw_data(),
                                                    gradient.element_count(),
                                                    squares.mutable_raw_data(), queue_of(gradient));
}

/// Calls function(gradient in memory, its arena or null) for each gradient of the list, once.
template <class Function>
void for_each_gradient(const ParameterList& parameters, Function function) {
  LeafSet seen;
  for (const auto& named : parameters)
    if (Leaf* leaf = leaf_of(named); leaf != nullptr && seen.insert(leaf).second)
      function(leaf->place().defined() ? leaf->place() : named.parameter.gradient(), leaf->arena);
}

/// One running sum per arena, each read back once. A factor still to be applied is applied to the
/// sum.
double norm_on_host(const ParameterList& parameters) {
  std::vector<Sum> sums;
  for_each_gradient(parameters, [&](const Tensor& gradient, Arena* arena) {
    auto it =
        std::find_if(sums.begin(), sums.end(), [&](const Sum& sum) { return sum.arena == arena; });
    if (it == sums.end())
      it = sums.insert(it, {arena, zeros(Shape{}, DType::float64, gradient.device())});
    add_squares(gradient, it->squares);
  });
  double squares = 0;
  for (const Sum& sum : sums) {
    const double factor = sum.arena != nullptr ? sum.arena->factor : 1;
    squares += sum.squares.item<double>() * factor * factor;
  }
  return std::sqrt(squares);
}

/// Whether every gradient of the arena belongs to the list, so that the arena's factor may change.
bool covers(const LeafSet& leaves, const Arena& arena) {
  return std::all_of(arena.entries.begin(), arena.entries.end(), [&](const auto& entry) {
    return !entry.filled() || leaves.count(entry.leaf) > 0;
  });
}

/// The arenas whose every gradient is in the list.
std::vector<Arena*> whole_arenas(const ParameterList& parameters,
                                 const std::vector<Arena*>& arenas) {
  const LeafSet leaves = filled_leaves(parameters);
  std::vector<Arena*> whole;
  for (Arena* arena : arenas)
    if (covers(leaves, *arena)) whole.push_back(arena);
  return whole;
}

/// Calls scale(gradient) for each gradient that is in none of the whole arenas.
template <class Scale>
void scale_others(const ParameterList& parameters, const std::vector<Arena*>& whole, Scale scale) {
  for_each_gradient(parameters, [&](const Tensor& in_memory, Arena* arena) {
    if (std::find(whole.begin(), whole.end(), arena) != whole.end()) return;
    if (arena != nullptr) arena->settle();
    Tensor gradient = in_memory;
    scale(gradient);
  });
}

/// The device of all gradients, if the host would have to wait for it. A norm over several devices
/// is read back.
std::optional<Device> common_device(const ParameterList& parameters) {
  std::optional<Device> device;
  bool common = true;
  for_each_gradient(parameters, [&](const Tensor& gradient, Arena*) {
    common = common && (!device || *device == gradient.device());
    device = gradient.device();
  });
  if (!common || !device || lockstep::backend::backend_for(*device).host_reads) return {};
  return device;
}

/// The arena that all gradients of the list lie in and that has no others; null otherwise. Its
/// pending factors are taken into account rather than applied first.
Arena* single_arena(const ParameterList& parameters, const std::vector<Arena*>& arenas,
                    const std::vector<Arena*>& whole) {
  if (arenas.size() != 1 || whole.size() != 1) return nullptr;
  bool inside = true;
  for_each_gradient(
      parameters, [&](const Tensor&, Arena* arena) { inside = inside && arena == arenas.front(); });
  return inside ? arenas.front() : nullptr;
}

/// Norm and factor without the host: both stay on the device.
struct DeviceClip {
  Tensor norm;
  Tensor factor;
};

DeviceClip clip_on_device(const ParameterList& parameters, double max_norm, Device device,
                          const Arena* single) {
  Tensor squares = zeros(Shape{}, DType::float64, device);
  for_each_gradient(parameters,
                    [&](const Tensor& gradient, Arena*) { add_squares(gradient, squares); });
  DeviceClip clip{empty(Shape{}, DType::float64, device), empty(Shape{}, DType::float64, device)};
  lockstep::backend::backend_for(device).scalars.clip(
      {.sum_of_squares = static_cast<const double*>(squares.raw_data()),
       .host_factor = single != nullptr ? single->factor : 1,
       .factor = single != nullptr ? single->device_factor_data() : nullptr,
       .max_norm = max_norm},
      static_cast<double*>(clip.norm.mutable_raw_data()),
      static_cast<double*>(clip.factor.mutable_raw_data()), queue_of(squares));
  return clip;
}

/// An owner of the arena: one of its parameters is there, or it would hold no gradient.
std::shared_ptr<Arena> keep(const Arena& arena) {
  for (const auto& entry : arena.entries)
    if (entry.leaf != nullptr) return entry.leaf->keep_arena;
  return nullptr;
}

GradientNorm norm_on_device(const ParameterList& parameters, double max_norm, Device device,
                            const std::vector<Arena*>& arenas, bool clip) {
  const std::vector<Arena*> whole = whole_arenas(parameters, arenas);
  Arena* single = single_arena(parameters, arenas, whole);
  if (single == nullptr)
    for (Arena* arena : arenas) arena->settle();
  const DeviceClip result = clip_on_device(parameters, max_norm, device, single);
  if (!clip) return GradientNorm(result.norm);
  for (Arena* arena : whole) {
    arena->device_factor = result.factor;
    if (lockstep::backend::Capture* capture = lockstep::backend::current_capture())
      capture->after_each_time([arena = keep(*arena), factor = result.factor] {
        if (arena != nullptr) arena->device_factor = factor;
      });
  }
  scale_others(parameters, whole, [&](Tensor& gradient) {
    backend_of(gradient).scalars.scale(
        gradient.dtype(), static_cast<const double*>(result.factor.raw_data()),
        gradient.mutable_raw_data(), gradient.element_count(), queue_of(gradient));
  });
  return GradientNorm(result.norm);
}

}  // namespace

Tensor GradientNorm::tensor() const {
  return pending_.defined() ? pending_ : full(Shape{}, value_, DType::float64);
}

GradientNorm gradient_norm(const ParameterList& parameters) {
  const std::vector<Arena*> arenas = waited_arenas(parameters);
  if (const auto device = common_device(parameters))
    return norm_on_device(parameters, 1, *device, arenas, false);
  for (Arena* arena : arenas)
    if (arena->device_factor.defined()) arena->settle();
  return GradientNorm(norm_on_host(parameters));
}

GradientNorm clip_gradient_norm(const ParameterList& parameters, double max_norm) {
  if (!(max_norm >= 0))
    throw InvalidUsage("clip_gradient_norm: max_norm = " + std::to_string(max_norm) +
                       " is out of range");
  const std::vector<Arena*> arenas = waited_arenas(parameters);
  if (const auto device = common_device(parameters))
    return norm_on_device(parameters, max_norm, *device, arenas, true);
  for (Arena* arena : arenas)
    if (arena->device_factor.defined()) arena->settle();
  const double norm = norm_on_host(parameters);
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return GradientNorm(norm);
  const std::vector<Arena*> whole = whole_arenas(parameters, arenas);
  for (Arena* arena : whole) arena->factor *= factor;  // folded into the pass of the optimizer
  scale_others(parameters, whole, [&](Tensor& gradient) {
    backend_of(gradient).elementwise.scale(gradient.dtype(), factor, gradient.mutable_raw_data(),
                                           gradient.element_count(), queue_of(gradient));
  });
  return GradientNorm(norm);
}

}  // namespace lockstep::inline v0::optim
