#include "interop/orders.hpp"

namespace orders {

std::uint64_t count() { return 1; }
void choose(std::uint64_t) {}
std::int64_t host_waits() { return 0; }

}  // namespace orders
