#include <catch2/catch.hpp>

#include <vector>

#include "comm/split_counts.hpp"

using lockstep::detail::split_counts;

namespace {

constexpr std::int64_t kTwoTo31 = std::int64_t{1} << 31;

std::vector<int> parts_of(std::int64_t count, std::int64_t most) {
  std::vector<int> sizes;
  const auto parts = split_counts(count, most);
  for (std::int64_t part = 0; part < parts.parts(); ++part) sizes.push_back(parts.size(part));
  return sizes;
}

}  // namespace

TEST_CASE("20 elements with 7 per call are 7, 7 and 6") {
  REQUIRE(parts_of(20, 7) == std::vector<int>{7, 7, 6});
  REQUIRE(parts_of(21, 7) == std::vector<int>{7, 7, 7});
  REQUIRE(parts_of(7, 7) == std::vector<int>{7});
  REQUIRE(parts_of(1, 7) == std::vector<int>{1});
  REQUIRE(parts_of(0, 7).empty());
}

TEST_CASE("counts beyond an int are cut into parts that an int can hold") {
  for (const std::int64_t count :
       {kTwoTo31 - 1, kTwoTo31, kTwoTo31 + 1, 2 * kTwoTo31 + 5, 100 * kTwoTo31 + 3}) {
    const auto parts = split_counts(count);
    std::int64_t sum = 0;
    for (std::int64_t part = 0; part < parts.parts(); ++part) {
      REQUIRE(parts.offset(part) == sum);
      REQUIRE(parts.size(part) >= 1);
      sum += parts.size(part);
    }
    REQUIRE(sum == count);
  }
  REQUIRE(split_counts(kTwoTo31 - 1).parts() == 1);
  REQUIRE(split_counts(kTwoTo31).parts() == 2);
  REQUIRE(split_counts(2 * kTwoTo31 + 5).parts() == 3);
}
