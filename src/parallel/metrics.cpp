#include <lockstep/parallel/metrics.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0 {

namespace {

using Numbers = std::map<std::string, AverageMetric>;

/// Stands before each name in what a rank brings.
struct Head {
  double value;
  double weight;
  std::uint64_t name_length;
};

std::string packed(const std::vector<Metric>& metrics) {
  std::string bytes;
  for (const Metric& metric : metrics) {
    const Head head{metric.value, metric.weight, metric.name.size()};
    bytes.append(reinterpret_cast<const char*>(&head), sizeof head).append(metric.name);
  }
  return bytes;
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw InvalidUsage("average_metrics: \"" + name + "\" " + what);
}

Numbers unpacked(std::string_view bytes, std::size_t rank) {
  const std::string where = " on rank " + std::to_string(rank);
  Numbers numbers;
  while (!bytes.empty()) {
    Head head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    const std::string name(bytes.substr(sizeof head, head.name_length));
    bytes.remove_prefix(sizeof head + name.size());
    if (!(head.weight >= 0) || !std::isfinite(head.weight))
      refuse(name, "has the weight " + std::to_string(head.weight) + where);
    if (!numbers.emplace(name, AverageMetric{head.value, head.weight}).second)
      refuse(name, "is there twice" + where);
  }
  return numbers;
}

/// @throws InvalidUsage naming what rank `has` brings and rank `lacks` does not.
void check_names(const std::vector<Numbers>& parts, std::size_t has, std::size_t lacks) {
  for (const auto& [name, number] : parts[has])
    if (!parts[lacks].contains(name))
      refuse(name, "comes from rank " + std::to_string(has) + " and not from rank " +
                       std::to_string(lacks) +
                       "; every rank brings the same names, with weight 0 where it has nothing");
}

}  // namespace

Numbers average_metrics(const Communicator& ranks, const std::vector<Metric>& own) {
  const std::vector<std::string> all = ranks.gather_bytes(packed(own));
  std::vector<Numbers> parts;
  for (const std::string& bytes : all) parts.push_back(unpacked(bytes, parts.size()));
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    check_names(parts, 0, rank);
    check_names(parts, rank, 0);
  }
  Numbers averages;
  for (const auto& [name, number] : parts[0]) {
    double sum = 0;
    double weight = 0;
    for (const Numbers& part : parts) {
      const AverageMetric& metric = part.at(name);
      if (metric.weight == 0) continue;
      sum += metric.mean * metric.weight;
      weight += metric.weight;
    }
    averages[name] = {weight == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / weight,
                      weight};
  }
  return averages;
}

}  // namespace lockstep::inline v0
