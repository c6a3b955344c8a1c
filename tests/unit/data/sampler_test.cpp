#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/data/sampler.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;
using ls::data::Partition;
using ls::data::Sampler;
using Indices = std::vector<std::int64_t>;

namespace {

constexpr Partition kPartitions[] = {Partition::padded, Partition::dropped, Partition::exact};

Indices own_part(std::int64_t size, int rank, int ranks, Partition partition = Partition::padded) {
  return Sampler(size, rank, ranks, {.shuffle = false, .partition = partition}).epoch(0);
}

// The parts of all ranks, dealt back into one list as they were dealt out.
Indices whole_order(std::int64_t size, int ranks, ls::data::SamplerOptions options,
                    std::int64_t epoch) {
  std::vector<Indices> parts;
  std::size_t longest = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Sampler sampler(size, rank, ranks, options);
    parts.push_back(sampler.epoch(epoch));
    CHECK(sampler.count() == static_cast<std::int64_t>(parts.back().size()));
    longest = std::max(longest, parts.back().size());
  }
  Indices order;
  for (std::size_t i = 0; i < longest; ++i)
    for (const auto& part : parts)
      if (i < part.size()) order.push_back(part[i]);
  return order;
}

Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

Indices first_numbers(std::int64_t count) {
  Indices numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

TEST_CASE("With more ranks than samples, padding repeats the samples cyclically") {
  for (int rank = 0; rank < 7; ++rank) CHECK(own_part(3, rank, 7) == Indices{rank % 3});
  for (int rank = 0; rank < 9; ++rank) CHECK(own_part(4, rank, 9) == Indices{rank % 4});
  for (int rank = 0; rank < 4; ++rank) CHECK(own_part(1, rank, 4) == Indices{0});
}

TEST_CASE("A data set without samples gives every rank an empty epoch") {
  for (const auto partition : kPartitions)
    for (int rank = 0; rank < 2; ++rank) CHECK(own_part(0, rank, 2, partition).empty());
}

TEST_CASE("With fewer samples than ranks, dropping gives every rank an empty epoch") {
  for (int rank = 0; rank < 7; ++rank) CHECK(own_part(3, rank, 7, Partition::dropped).empty());
}

TEST_CASE("Rank r takes positions r, r + ranks, and so on, padded from the head") {
  CHECK(own_part(10, 0, 4) == Indices{0, 4, 8});
  CHECK(own_part(10, 1, 4) == Indices{1, 5, 9});
  CHECK(own_part(10, 2, 4) == Indices{2, 6, 0});
  CHECK(own_part(10, 3, 4) == Indices{3, 7, 1});
  CHECK(own_part(10, 3, 4, Partition::dropped) == Indices{3, 7});
  CHECK(own_part(10, 1, 4, Partition::exact) == Indices{1, 5, 9});
  CHECK(own_part(10, 2, 4, Partition::exact) == Indices{2, 6});
}

TEST_CASE("Every partition of up to 40 samples over up to 9 ranks uses the right samples") {
  for (std::int64_t size = 0; size <= 40; ++size)
    for (int ranks = 1; ranks <= 9; ++ranks)
      for (const bool shuffle : {false, true}) {
        CAPTURE(size, ranks, shuffle);
        const auto order = [&](Partition partition) {
          return whole_order(size, ranks, {shuffle, 5, partition}, 2);
        };
        const auto exact = order(Partition::exact);
        CHECK(sorted(exact) == first_numbers(size));

        const auto padded = order(Partition::padded);
        REQUIRE(static_cast<std::int64_t>(padded.size()) == (size + ranks - 1) / ranks * ranks);
        for (std::size_t i = 0; i < padded.size(); ++i) CHECK(padded[i] == exact[i % exact.size()]);

        const auto dropped = order(Partition::dropped);
        REQUIRE(static_cast<std::int64_t>(dropped.size()) == size / ranks * ranks);
        CHECK(std::equal(dropped.begin(), dropped.end(), exact.begin()));
      }
}

TEST_CASE("Ranks get equal numbers of samples unless the partition is exact") {
  for (const auto partition : {Partition::padded, Partition::dropped})
    for (int rank = 0; rank < 6; ++rank)
      CHECK(Sampler(22, rank, 6, {.partition = partition}).count() ==
            (partition == Partition::padded ? 4 : 3));
  for (int rank = 0; rank < 6; ++rank)
    CHECK(Sampler(22, rank, 6, {.partition = Partition::exact}).count() == (rank < 4 ? 4 : 3));
}

TEST_CASE("Each epoch has an order of its own, complete, and the same whenever it is asked for") {
  std::vector<Indices> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    orders.push_back(whole_order(22, 2, {.seed = 1}, epoch));
    CHECK(sorted(orders.back()) == first_numbers(22));
    CHECK(orders.back() != first_numbers(22));
    CHECK(whole_order(22, 2, {.seed = 1}, epoch) == orders.back());
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  CHECK(orders[0] != orders[2]);
}

TEST_CASE("The order of an epoch does not depend on the number of ranks") {
  const auto alone = whole_order(36, 1, {.seed = 3}, 4);
  for (const int ranks : {2, 3, 4, 9}) CHECK(whole_order(36, ranks, {.seed = 3}, 4) == alone);
}

TEST_CASE("Another seed gives another order, and seed and epoch are not added up") {
  CHECK(whole_order(22, 2, {.seed = 1}, 0) != whole_order(22, 2, {.seed = 2}, 0));
  CHECK(whole_order(22, 2, {.seed = 1}, 1) != whole_order(22, 2, {.seed = 2}, 0));
}

TEST_CASE("A negative size and a rank out of range are refused") {
  CHECK_THROWS_AS(Sampler(-1, 0, 1), ls::InvalidUsage);
  CHECK_THROWS_AS(Sampler(3, -1, 2), ls::InvalidUsage);
  CHECK_THROWS_AS(Sampler(3, 2, 2), ls::InvalidUsage);
  CHECK_THROWS_AS(Sampler(3, 0, 0), ls::InvalidUsage);
  CHECK_THROWS_WITH(Sampler(3, 2, 2), Contains("rank 2 of 2 ranks"));
}
