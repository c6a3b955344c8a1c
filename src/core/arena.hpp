// Arenas: all parameter values of one dtype and device in one allocation, and their gradients in
// another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/core/parameter.hpp>

#include "core/tape.hpp"

namespace lockstep::inline v0::detail {

struct ArenaEntry {
  std::string name;
  Leaf* leaf = nullptr;  // null once the parameter is gone
  std::shared_ptr<Storage>
      value;  // the part of the arena that holds the value; a write counts its version up
  std::int64_t begin = 0;  // elements
  std::int64_t count = 0;
  std::int64_t padded_end = 0;  // begin of the next entry

  bool filled() const noexcept { return leaf != nullptr && leaf->filled(); }
};

/// Values, gradients and moments of the same parameters share one index. Entries lie in the order
/// in which backward is expected to finish them (reverse order of registration), frozen ones last;
/// padding is zero.
class Arena {
 public:
  Arena(DType dtype, Device device, std::int64_t count);

  Tensor values;
  Tensor gradients;
  std::vector<ArenaEntry> entries;
  /// Where a line (64 bytes) lies that belongs to no parameter: behind the trainable ones, so that
  /// it travels with the last bucket.
  std::int64_t words_begin = 0;
  /// Still to be multiplied into the gradients; applied exactly once, by whoever needs it first.
  double factor = 1;
  /// The same for a factor that was computed on the device: one float64 there, undefined where
  /// there is none. Both are multiplied.
  Tensor device_factor;
  GradientListener* listener = nullptr;
  /// Set when the listener went away while gradients were being exchanged: waits for what is in
  /// flight. Until the gradients are zeroed, nobody can use them.
  std::function<void()> abandoned;

  DType dtype() const { return values.dtype(); }
  Device device() const { return values.device(); }
  std::int64_t count() const { return values.element_count(); }
  /// Waits for an exchange in flight. @throws InvalidUsage if the exchange was abandoned
  void wait();
  /// Before a backward writes, where there is no listener.
  void begin_backward();
  /// Waits for what an earlier listener left in flight, and forgets it.
  void clear_abandoned();
  /// wait(), then applies the factor: afterwards the gradients in memory are final.
  void settle();
  /// Whether a factor is still to be applied.
  bool scaled() const noexcept { return factor != 1 || device_factor.defined(); }
  /// In device memory, for the pass of an optimizer; null if there is none.
  const double* device_factor_data() const;
  /// Multiplies both factors into the gradients in memory, wherever an exchange stands.
  void apply_factors();
  void forget_factors();
  /// Called when an entry was cleared: without any gradient left there is nothing to apply the
  /// factor to.
  void forget_factor_if_empty();
  bool any_filled() const;
  /// New zeroed memory with the same index (a moment).
  Tensor companion() const;
};

/// The arenas of these parameters, in order of first appearance; those that are in none yet are
/// packed, by dtype, into new ones on `device`. @throws InvalidUsage if a view, a saved value or a
/// borrowed pointer of one of them is alive, or if one is in an arena on another device.
std::vector<std::shared_ptr<Arena>> pack(const ParameterList& parameters, Device device);

}  // namespace lockstep::inline v0::detail
