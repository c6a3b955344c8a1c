// More elements than an int counts, for real: a little more than 2^31 bytes, twice, on each rank.
// Runs at two ranks, where they fit into the memory of a usual machine, and is skipped where not.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include <lockstep/comm/communicator.hpp>
#include <lockstep/core/create.hpp>
#include <lockstep/core/units.hpp>

#include "support/test_environment.hpp"

namespace ls = lockstep;

namespace {

// By a few of the pieces in which exchanges cut a buffer, so that some of them begin beyond 2^31;
// odd, so that parts are uneven.
constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 8 * ls::MiB + 1;
static_assert(kCount > std::numeric_limits<int>::max());

/// Element i of a rank: a period that no power of two divides, so a value that came to a wrong
/// offset differs, and a sum over two ranks fits into a byte.
std::uint8_t value(std::int64_t i, int rank) { return static_cast<std::uint8_t>(i % 101 + rank); }

void fill(std::uint8_t* values, std::int64_t count, int rank) {
  constexpr std::int64_t kBlock = 101 * 4096;
  const std::int64_t head = std::min(kBlock, count);
  for (std::int64_t i = 0; i < head; ++i) values[i] = value(i, rank);
  for (std::int64_t i = head; i < count; i += kBlock)
    std::memcpy(values + i, values, static_cast<std::size_t>(std::min(kBlock, count - i)));
}

/// The first place where wanted(i) does not stand, or -1: the ends, the middle and where counts and
/// offsets leave their types, each with its neighbours, and every 4099th element.
template <class Wanted>
std::int64_t first_wrong(const std::uint8_t* values, std::int64_t count, const Wanted& wanted) {
  for (const std::int64_t place :
       {std::int64_t{0}, count / 2, std::int64_t{std::numeric_limits<int>::max()},
        std::int64_t{1} << 30, std::int64_t{1} << 31, std::int64_t{1} << 32, count - 1})
    for (std::int64_t i = std::max<std::int64_t>(place - 3, 0); i <= place + 3 && i < count; ++i)
      if (values[i] != wanted(i)) return i;
  for (std::int64_t i = 0; i < count; i += 4099)
    if (values[i] != wanted(i)) return i;
  return -1;
}

/// Bytes that programs may still take without swapping; 0 where the system does not say.
std::int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::int64_t kib = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kib) return kib * ls::KiB;
  return 0;
}

/// Decided by rank 0 for all.
bool memory_is_enough() {
  const ls::Communicator& ranks = test_environment().ranks();
  const bool enough = ranks.rank() != 0 || available_bytes() > ranks.size() * 3 * kCount;
  return ranks.agree(enough);
}

}  // namespace

TEST_CASE("all_reduce, broadcast, messages and all_gather of more than INT_MAX elements") {
  const ls::Communicator& ranks = test_environment().ranks();
  if (!memory_is_enough()) {
    WARN("skipped: memory is short, each rank needs 2 x 2^31 bytes and some more");
    return;
  }
  REQUIRE(ranks.size() == 2);
  const int rank = ranks.rank();
  // Not zeroed: its pages are made by the first write.
  const std::unique_ptr<std::uint8_t[]> memory(new std::uint8_t[2 * kCount]);
  const ls::Tensor whole = ls::borrow(memory.get(), {2 * kCount});
  std::uint8_t* const first = memory.get();
  std::uint8_t* const own = first + rank * kCount;

  fill(first, kCount, rank);
  const ls::Tensor values = ls::borrow(first, {kCount});
  ranks.all_reduce(values).wait();
  const auto sum = [](std::int64_t i) { return value(i, 0) + value(i, 1); };
  REQUIRE(first_wrong(first, kCount, sum) == -1);

  if (rank == 1) fill(first, kCount, 7);
  ranks.broadcast(values, 1).wait();
  REQUIRE(first_wrong(first, kCount, [](std::int64_t i) { return value(i, 7); }) == -1);

  if (rank == 0) {
    fill(first, kCount, 9);
    ranks.send(values, 1).wait();
  } else {
    ranks.receive(values, 0).wait();
  }
  REQUIRE(first_wrong(first, kCount, [](std::int64_t i) { return value(i, 9); }) == -1);

  fill(own, kCount, rank + 20);
  ranks.all_gather(ls::borrow(own, {kCount}), whole).wait();
  const auto gathered = [](std::int64_t i) {
    return i < kCount ? value(i, 20) : value(i - kCount, 21);
  };
  REQUIRE(first_wrong(first, 2 * kCount, gathered) == -1);
}
