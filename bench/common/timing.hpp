// Calls that are timed in turns, so that a change of the machine's speed meets all of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace bench {

struct Subject {
  std::string name;
  std::function<void()> call;
  std::vector<double> seconds = {};  // of one call, one number per repetition
};

/// Calls each twice, then times all of them in every repetition; what is short is called often.
void measure_in_turns(std::span<Subject> subjects, int repetitions);

double median_seconds(const Subject& subject);
/// Of a's time to b's, repetition by repetition.
double median_ratio(const Subject& a, const Subject& b);

/// Before lockstep::run: one compute thread, unless OMP_NUM_THREADS says otherwise already.
void prefer_one_thread();

}  // namespace bench
