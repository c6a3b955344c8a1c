// A bar that shows how far an epoch is, on rank 0 and only on a terminal.
#pragma once

#include <cstdint>
#include <string>

#include <lockstep/comm/environment.hpp>

#include "common/result.hpp"

namespace common {

class Progress {
 public:
  Progress(const lockstep::Environment& environment, std::string label, std::int64_t steps);
  /// Clears the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One step is done. Draws at most ten times a second; only then the loss is read.
  void step(const LossMeter& loss);

 private:
  void draw(const LossMeter& loss) const;

  std::string label_;
  std::int64_t steps_;
  int ranks_;
  bool shown_;
  Stopwatch watch_;
  std::int64_t done_ = 0;
  double next_draw_ = 0;
};

}  // namespace common
