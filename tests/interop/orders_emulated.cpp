#include "emulation/control.hpp"
#include "interop/orders.hpp"

namespace orders {

std::uint64_t count() { return 24; }
void choose(std::uint64_t seed) { emulation::set_seed(seed); }
std::int64_t host_waits() { return emulation::counters().host_synchronizations; }

}  // namespace orders
