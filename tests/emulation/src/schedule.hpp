// Which operation runs next.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "emulation/src/streams.hpp"

namespace emulation {

// One synchronization's or query's choice of operations. The points' own operations and what they
// wait for must run; of every other stream the seed says how much may run, and when: before, after
// or mixed with them. Used with state().execution held.
class Schedule {
 public:
  explicit Schedule(std::vector<Point> targets);

  enum class Result { reached, waiting, limited };
  // Runs operations until the points are reached, all that could run wait for peers, or so many
  // have run.
  Result advance(std::uint64_t limit);

 private:
  enum class Order { others_first, needed_first, mixed };

  void need(const Point& point);
  void allow_others();
  bool reached() const;
  bool may_run(const StreamRef& stream) const;
  bool needed(const StreamRef& stream) const;
  StreamRef choose();
  bool run_head(const StreamRef& stream);

  std::vector<Point> targets_;
  std::map<StreamRef, std::uint64_t> needed_;  // position to reach
  std::map<StreamRef, std::uint64_t> others_;  // entries that may run beyond that
  std::vector<StreamRef> stalled_;             // their head waits for a peer
  Order order_ = Order::mixed;
  bool everything_ = false;  // a peer is waited for, which may be in this process
};

}  // namespace emulation
