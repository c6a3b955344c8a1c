// The part of an optimizer that does not depend on its formula.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/optim/optimizer.hpp>

#include "backend/capture.hpp"
#include "core/arena.hpp"

namespace lockstep::inline v0::optim::detail {

using lockstep::detail::Arena;
using lockstep::detail::ArenaEntry;

/// What an optimizer knows about one arena.
struct ArenaSlot {
  std::shared_ptr<Arena> arena;
  std::vector<int> group;           // per entry; -1: not this optimizer's
  std::vector<std::int64_t> steps;  // per entry: updates so far
  Tensor first_moment;              // as large as the arena; undefined until needed
  Tensor second_moment;
};

class OptimizerState {
 public:
  explicit OptimizerState(std::vector<ParameterList> groups);
  virtual ~OptimizerState() = default;

  void step();
  void zero_grad();
  virtual double learning_rate(std::size_t group) const = 0;
  virtual void set_learning_rate(std::size_t group, double learning_rate) = 0;

  const ParameterList& parameters() const noexcept { return parameters_; }
  std::size_t group_count() const noexcept { return group_count_; }
  std::int64_t step_count() const noexcept { return step_count_; }

 protected:
  /// Whether entry `i` is updated now.
  static bool due(const ArenaSlot& slot, std::size_t i) {
    return slot.group[i] >= 0 && slot.arena->entries[i].filled() &&
           slot.arena->entries[i].leaf->enabled;
  }
  /// For a step that is captured: what each replay does with this slot before its pass. Empty
  /// outside of a capture.
  template <class Segment, class Make>
  backend::NextSegments<Segment> again(ArenaSlot& slot, Make make) {
    if (backend::current_capture() == nullptr) return {};
    const bool first = std::exchange(first_of_capture_, false);
    return {.make =
                [this, &slot, make, first] {
                  if (first) ++step_count_;
                  advance(slot);
                  return make();
                },
            .most = slot.arena->entries.size()};
  }
  /// One pass over the arena; gradients are ready, the factor is still to be applied.
  virtual void update(ArenaSlot& slot) = 0;
  static bool any_due(const ArenaSlot& slot);
  /// Counts an update of what is due. False if nothing is.
  static bool advance(ArenaSlot& slot);
  /// @throws InvalidUsage unless the group exists.
  void check_group(std::size_t group) const;

 private:
  ParameterList parameters_;
  std::size_t group_count_;
  std::vector<ArenaSlot> slots_;
  std::int64_t step_count_ = 0;
  bool first_of_capture_ = false;
};

/// Calls make(entry index) for each due entry and joins neighbours whose segments differ in the
/// range alone.
template <class Segment, class Due, class Make>
std::vector<Segment> segments_of(const Arena& arena, Due due, Make make, bool pads = true) {
  const auto same_options = [](Segment a, const Segment& b) {
    a.begin = b.begin;
    a.end = b.end;
    return a == b;
  };
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < arena.entries.size(); ++i) {
    if (!due(i)) continue;
    const ArenaEntry& entry = arena.entries[i];
    Segment segment = make(i);
    segment.begin = entry.begin;
    // Padding is zero and stays zero, but for 0 / 0.
    segment.end = pads ? entry.padded_end : entry.begin + entry.count;
    if (!segments.empty() && segments.back().end == segment.begin &&
        same_options(segments.back(), segment))
      segments.back().end = segment.end;
    else
      segments.push_back(segment);
  }
  return segments;
}

/// @throws InvalidUsage with the optimizer's and the option's name if the value is not in its
/// range.
inline void check_option(bool valid, const char* optimizer, const char* option, double value) {
  if (!valid)
    throw InvalidUsage(std::string(optimizer) + ": " + option + " = " + std::to_string(value) +
                       " is out of range");
}

inline std::vector<ParameterList> one_list(const ParameterList& parameters) {
  std::vector<ParameterList> lists;
  lists.push_back(share(parameters));
  return lists;
}

template <class Options>
std::vector<ParameterList> lists_of(std::span<const Group<Options>> groups) {
  std::vector<ParameterList> lists;
  for (const auto& group : groups) lists.push_back(share(group.parameters));
  return lists;
}

template <class Options>
std::vector<Options> options_of(std::span<const Group<Options>> groups) {
  std::vector<Options> options;
  for (const auto& group : groups) options.push_back(group.options);
  return options;
}

}  // namespace lockstep::inline v0::optim::detail
