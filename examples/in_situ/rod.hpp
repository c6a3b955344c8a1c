// The simulation: heat in a rod whose conductivity depends on the temperature. It owns MPI, and
// knows nothing of lockstep.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

/// The temperatures on both sides of each edge between two cells -> the fluxes through the edges.
using Fluxes = std::function<std::vector<double>(const std::vector<double>& sides)>;

/// What would be expensive in a real simulation.
std::vector<double> simulated_fluxes(const std::vector<double>& sides);

/// This rank's part of the rod, in explicit time steps. The ends are insulated, and now and then a
/// spot is heated.
class Rod {
 public:
  Rod(int rank, int ranks, std::uint64_t seed);

  /// Returns the sides of this rank's edges, for which it asked `fluxes`.
  std::vector<double> step(const Fluxes& fluxes);
  /// Relative distance from another run, in the 2-norm over all ranks.
  double distance_from(const Rod& other) const;

 private:
  void heat();
  void exchange_halos();

  int rank_;
  int ranks_;
  std::uint64_t seed_;
  std::int64_t begin_;
  std::int64_t step_ = 0;
  std::vector<double> cells_;  // between two halos
};
