#include "timing.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "common/result.hpp"

namespace bench {

namespace {

constexpr double kSecondsPerMeasurement = 0.01;

double seconds_of(const std::function<void()>& call, std::int64_t calls) {
  const common::Stopwatch watch;
  for (std::int64_t i = 0; i < calls; ++i) call();
  return watch.seconds() / static_cast<double>(calls);
}

std::int64_t calls_per_measurement(const std::function<void()>& call) {
  call();
  const double once = seconds_of(call, 1);
  return once >= kSecondsPerMeasurement ? 1
                                        : static_cast<std::int64_t>(kSecondsPerMeasurement / once);
}

}  // namespace

void measure_in_turns(std::span<Subject> subjects, int repetitions) {
  std::vector<std::int64_t> calls;
  for (const Subject& subject : subjects) calls.push_back(calls_per_measurement(subject.call));
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (std::size_t i = 0; i < subjects.size(); ++i)
      subjects[i].seconds.push_back(seconds_of(subjects[i].call, calls[i]));
}

double median_seconds(const Subject& subject) { return common::median(subject.seconds); }

double median_ratio(const Subject& a, const Subject& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.seconds.size(), b.seconds.size()); ++i)
    ratios.push_back(a.seconds[i] / b.seconds[i]);
  return common::median(ratios);
}

void prefer_one_thread() { setenv("OMP_NUM_THREADS", "1", 0); }

}  // namespace bench
