#include "common/result.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include <lockstep/core/create.hpp>
#include <lockstep/core/no_grad.hpp>
#include <lockstep/core/operations.hpp>

namespace common {

namespace ls = lockstep;

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

void LossMeter::add(const ls::Tensor& loss, std::int64_t samples) {
  const ls::NoGrad no_grad;
  const auto weighted = loss.detach() * static_cast<double>(samples);
  sum_ = sum_.defined() ? sum_ + weighted : weighted;
  samples_ += samples;
}

double LossMeter::own_sum() const {
  return sum_.defined() ? static_cast<double>(sum_.item<float>()) : 0.0;
}

double LossMeter::own_mean() const { return own_sum() / static_cast<double>(samples_); }

double LossMeter::mean(const ls::Environment& environment) const {
  auto sums = ls::tensor({own_sum(), static_cast<double>(samples_)}, {2}, environment.device());
  environment.ranks().all_reduce(sums).wait();
  const auto all = sums.to_vector<double>();
  return all[0] / all[1];
}

ResultLine& ResultLine::add(std::string_view key, std::string_view value) {
  text_.append(" ").append(key).append("=").append(value);
  return *this;
}

ResultLine& ResultLine::add(std::string_view key, std::int64_t value) {
  return add(key, std::to_string(value));
}

ResultLine& ResultLine::add(std::string_view key, double value, int digits) {
  return add(key, fixed(value, digits));
}

}  // namespace common
