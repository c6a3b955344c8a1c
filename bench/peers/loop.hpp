// What the peers of examples/multi_gpu_loop have in common: the problem, the command line, and the
// last line of their output.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace peers {

constexpr int kSamples = 10'000;
constexpr int kInputs = 1000;
constexpr int kHidden = 512;
constexpr int kOutputs = 10;
constexpr int kBatch = 32;
constexpr double kLearningRate = 1e-3;

/// "--epochs N", the only option.
inline int epochs_of(int argc, char** argv) {
  if (argc == 1) return 10;
  if (argc == 3 && std::string(argv[1]) == "--epochs") return std::atoi(argv[2]);
  std::fprintf(stderr, "usage: %s [--epochs N]\n", argv[0]);
  std::exit(2);
}

inline int steps_per_epoch(int ranks) {
  const int samples = (kSamples + ranks - 1) / ranks;
  return (samples + kBatch - 1) / kBatch;
}

/// Calls epoch(number) so often, and prints what a step took, as lockstep's examples do.
template <class Epoch>
void measure(int epochs, int rank, int ranks, Epoch epoch) {
  std::vector<double> seconds;
  double loss = 0;
  for (int i = 0; i < epochs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    loss = epoch(i);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = (seconds[seconds.size() / 2] + seconds[(seconds.size() - 1) / 2]) / 2;
  if (rank == 0)
    std::printf("result ranks=%d us_per_step=%.1f samples_per_second=%.0f loss=%.6f\n", ranks,
                1e6 * median / steps_per_epoch(ranks), kSamples / median, loss);
}

}  // namespace peers
