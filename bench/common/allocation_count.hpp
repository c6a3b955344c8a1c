// How often this process asked for memory: the program's malloc and its relatives, counted.
#pragma once

#include <cstdint>

namespace bench {

/// Since the start, by all threads.
std::int64_t allocation_count() noexcept;

}  // namespace bench
