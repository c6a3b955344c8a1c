#include "comm/nccl/given_up.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

namespace lockstep::inline v0::detail::nccl {
namespace {

struct GivenUp {
  std::mutex mutex;
  std::vector<std::shared_ptr<Flight>> flights;
};

// Never destroyed: the device may write to that memory until the process ends.
GivenUp& given_up() {
  static auto* instance = new GivenUp;
  return *instance;
}

}  // namespace

void keep_given_up(std::vector<std::shared_ptr<Flight>> flights) noexcept {
  if (flights.empty()) return;
  GivenUp& all = given_up();
  const std::lock_guard lock(all.mutex);
  std::move(flights.begin(), flights.end(), std::back_inserter(all.flights));
}

std::vector<std::shared_ptr<Flight>> take_passed(std::vector<std::shared_ptr<Flight>>& flights) {
  const CaptureGuard guard;
  const auto passed = std::stable_partition(flights.begin(), flights.end(), [](const auto& flight) {
    return !flight->end || flight->end->query() != cudaSuccess;
  });
  std::vector<std::shared_ptr<Flight>> taken(std::make_move_iterator(passed),
                                             std::make_move_iterator(flights.end()));
  flights.erase(passed, flights.end());
  return taken;
}

void release_given_up() {
  std::vector<std::shared_ptr<Flight>> passed;  // released without the lock
  GivenUp& all = given_up();
  const std::lock_guard lock(all.mutex);
  if (!all.flights.empty()) passed = take_passed(all.flights);
}

}  // namespace lockstep::inline v0::detail::nccl
