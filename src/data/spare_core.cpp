#include "data/spare_core.hpp"

#include <sched.h>
#include <unistd.h>

namespace lockstep::inline v0::data::detail {

bool has_spare_core(int local_ranks) noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more cores than the set holds; then the number of cores decides alone.
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  if (known && CPU_COUNT(&allowed) < 2) return false;
  return sysconf(_SC_NPROCESSORS_ONLN) >= 2L * local_ranks;
}

}  // namespace lockstep::inline v0::data::detail
