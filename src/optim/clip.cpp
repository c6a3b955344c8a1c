// Clipping by global norm.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/optim/optimizer.hpp>

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

/// One running sum of squares per arena (and one for gradients outside of any), each read back
/// once. A factor still to be applied is applied to the sum.
double norm_of_waited(const ParameterList& parameters) {
  struct Sum {
    const Arena* arena;
    Tensor squares;
  };
  std::vector<Sum> sums;
  LeafSet seen;
  for (const auto& named : parameters) {
    const Leaf* leaf = leaf_of(named);
    if (leaf == nullptr || !seen.insert(leaf).second) continue;
    const Tensor place = leaf->place().defined() ? leaf->place() : named.parameter.gradient();
    auto it = std::find_if(sums.begin(), sums.end(),
                           [&](const Sum& sum) { return sum.arena == leaf->arena; });
    if (it == sums.end())
      it = sums.insert(it, {leaf->arena, zeros(Shape{}, DType::float64, place.device())});
    backend_of(place).reduction.add_sum_of_squares(place.dtype(), place.raw_data(),
                                                   place.element_count(),
                                                   it->squares.mutable_raw_data(), queue_of(place));
  }
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

void scale_one(const NamedParameter& named, double factor) {
  Tensor gradient = named.parameter.gradient();
  backend_of(gradient).elementwise.scale(gradient.dtype(), factor, gradient.mutable_raw_data(),
                                         gradient.element_count(), queue_of(gradient));
}

}  // namespace

double gradient_norm(const ParameterList& parameters) {
  waited_arenas(parameters);
  return norm_of_waited(parameters);
}

double clip_gradient_norm(const ParameterList& parameters, double max_norm) {
  if (!(max_norm >= 0))
    throw InvalidUsage("clip_gradient_norm: max_norm = " + std::to_string(max_norm) +
                       " is out of range");
  const std::vector<Arena*> arenas = waited_arenas(parameters);
  const double norm = norm_of_waited(parameters);
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return norm;
  const LeafSet leaves = filled_leaves(parameters);
  std::vector<Arena*> whole;
  for (Arena* arena : arenas)
    if (covers(leaves, *arena)) {
      arena->factor *= factor;  // folded into the pass of the optimizer
      whole.push_back(arena);
    }
  LeafSet seen;
  for (const auto& named : parameters) {
    const Leaf* leaf = leaf_of(named);
    if (leaf == nullptr || !seen.insert(leaf).second) continue;
    if (std::find(whole.begin(), whole.end(), leaf->arena) == whole.end()) scale_one(named, factor);
  }
  return norm;
}

}  // namespace lockstep::inline v0::optim
