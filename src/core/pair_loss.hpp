// Names the losses that are a sum over pairs of a prediction and a target; loss_functions.hpp has
// them. Device code reads this header too.
#pragma once

#include <cstdint>

namespace lockstep::inline v0::portable {

enum class PairLossKind : std::uint8_t { bce_with_logits, huber, l1 };
inline constexpr int kPairLosses = 3;

/// factor * the sum over `count` pairs.
struct PairLoss {
  PairLossKind kind;
  std::int64_t count = 0;
  double factor = 1;
  double number = 0;
};

}  // namespace lockstep::inline v0::portable
