#include "in_situ/rod.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace {

constexpr std::int64_t kCells = 96;      // of all ranks
constexpr double kTimeStep = 0.2;        // times a conductivity of at most 1.1: stable
constexpr std::int64_t kHeatEvery = 40;  // steps

}  // namespace

std::vector<double> simulated_fluxes(const std::vector<double>& sides) {
  std::vector<double> fluxes(sides.size() / 2);
  for (std::size_t i = 0; i < fluxes.size(); ++i) {
    const double mean = (sides[2 * i] + sides[2 * i + 1]) / 2;
    fluxes[i] = (0.1 + mean * mean) * (sides[2 * i] - sides[2 * i + 1]);
  }
  return fluxes;
}

Rod::Rod(int rank, int ranks, std::uint64_t seed)
    : rank_(rank),
      ranks_(ranks),
      seed_(seed),
      begin_(kCells * rank / ranks),
      cells_(static_cast<std::size_t>(kCells * (rank + 1) / ranks - begin_) + 2) {}

std::vector<double> Rod::step(const Fluxes& fluxes) {
  if (step_ % kHeatEvery == 0) heat();
  ++step_;
  exchange_halos();
  std::vector<double> sides;
  for (std::size_t i = 0; i + 1 < cells_.size(); ++i)
    sides.insert(sides.end(), {cells_[i], cells_[i + 1]});
  const std::vector<double> through = fluxes(sides);
  for (std::size_t i = 1; i + 1 < cells_.size(); ++i)
    cells_[i] += kTimeStep * (through[i - 1] - through[i]);
  return sides;
}

double Rod::distance_from(const Rod& other) const {
  double sums[2] = {};
  for (std::size_t i = 1; i + 1 < cells_.size(); ++i) {
    const double difference = cells_[i] - other.cells_[i];
    sums[0] += difference * difference;
    sums[1] += other.cells_[i] * other.cells_[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return std::sqrt(sums[0] / sums[1]);
}

void Rod::heat() {
  // The first spots lie in the first third of the rod: other ranks begin with nothing to learn.
  std::mt19937_64 engine(seed_ + static_cast<std::uint64_t>(step_));
  const std::int64_t places = step_ < 2 * kHeatEvery ? kCells / 3 : kCells;
  const auto center = static_cast<double>(engine() % static_cast<std::uint64_t>(places));
  for (std::size_t i = 1; i + 1 < cells_.size(); ++i) {
    const double away = static_cast<double>(begin_) + static_cast<double>(i) - 1 - center;
    cells_[i] = std::max(cells_[i], std::exp(-away * away / 18));
  }
}

void Rod::exchange_halos() {
  const int left = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL;
  const int right = rank_ + 1 < ranks_ ? rank_ + 1 : MPI_PROC_NULL;
  double* const first = &cells_[1];
  double* const last = &cells_[cells_.size() - 2];
  cells_.front() = *first;  // no flux where there is no neighbour
  cells_.back() = *last;
  MPI_Sendrecv(first, 1, MPI_DOUBLE, left, 0, last + 1, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(last, 1, MPI_DOUBLE, right, 1, first - 1, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
