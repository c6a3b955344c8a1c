// Averages of a program's own numbers over the ranks, by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <lockstep/comm/communicator.hpp>

namespace lockstep::inline v0 {

/// The mean of something over `weight` samples of this rank. With weight 0 the value does not
/// count, whatever it is (a NaN too).
struct Metric {
  std::string name;
  double value = 0;
  double weight = 1;
};

struct AverageMetric {
  double mean = 0;    // over the samples of all ranks; NaN if there are none
  double weight = 0;  // of all ranks
};

/// Collective, on the control plane. Every rank brings the same names, in any order:
///
///   const auto metrics = ls::average_metrics(env.ranks(), {{"loss", loss.item(), samples}});
///   env.print(std::to_string(metrics.at("loss").mean));
///
/// All ranks get the same bits.
/// @throws InvalidUsage on all ranks if one brings other names than rank 0, a name twice, or a
/// weight that is negative or not finite; the message names it.
LOCKSTEP_API std::map<std::string, AverageMetric> average_metrics(const Communicator& ranks,
                                                                  const std::vector<Metric>& own);

}  // namespace lockstep::inline v0
