// Times, means, and the last line of a program: "result key=value ...".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/comm/environment.hpp>
#include <lockstep/core/tensor.hpp>

namespace common {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// NaN of no values.
double median(std::vector<double> values);

/// "12.35" of 12.345 and 2.
std::string fixed(double value, int digits);

/// The mean of a loss over many batches. Adds up on the device, so that no step waits for the host.
class LossMeter {
 public:
  /// `loss`: the mean over `samples` samples.
  void add(const lockstep::Tensor& loss, std::int64_t samples);
  /// Of this rank so far (synchronizes); NaN without samples.
  double own_mean() const;
  /// Over all ranks. Collective; synchronizes.
  double mean(const lockstep::Environment& environment) const;
  std::int64_t samples() const noexcept { return samples_; }

 private:
  double own_sum() const;

  lockstep::Tensor sum_;
  std::int64_t samples_ = 0;
};

class ResultLine {
 public:
  ResultLine& add(std::string_view key, std::string_view value);
  ResultLine& add(std::string_view key, std::int64_t value);
  ResultLine& add(std::string_view key, double value, int digits);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_ = "result";
};

}  // namespace common
