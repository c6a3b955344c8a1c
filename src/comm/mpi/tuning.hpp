// Sizes of the exchanges. Tests make them small, so that short buffers take the long ways.
#pragma once

#include <cstdint>

#include <lockstep/core/units.hpp>
#include "comm/split_counts.hpp"

namespace lockstep::inline v0::detail::mpi {

struct Tuning {
  std::int64_t elements_per_call = kMostElementsPerCall;
  std::int64_t slice_bytes = 1 * MiB;        // of a fold exchange, per rank and piece
  int pieces_in_flight = 3;                  // of a fold exchange
  std::int64_t scratch_bytes = 8 * MiB;      // of a fold exchange, at most
  std::int64_t broadcast_bytes = 256 * KiB;  // that a rank passes on at a time
};

/// For the whole process. Change it only while nothing is in flight, and on all ranks alike.
inline Tuning& tuning() noexcept {
  static Tuning instance;
  return instance;
}

}  // namespace lockstep::inline v0::detail::mpi
