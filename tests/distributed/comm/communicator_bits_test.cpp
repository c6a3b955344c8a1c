// What the bits of a reduction depend on.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "support/test_environment.hpp"
#include "values.hpp"

using namespace test;

namespace {

/// Values whose sum depends on the order of addition.
float rough(std::int64_t i, int rank) {
  const auto mixed = static_cast<std::uint32_t>(i * 2654435761LL + rank * 40503LL) * 2246822519U;
  const float mantissa = 1.0F + static_cast<float>(mixed & 0xffffffU) / 16777216.0F;
  const float value = std::ldexp(mantissa, static_cast<int>(mixed >> 28U) - 8);
  return (mixed & 0x1000000U) != 0U ? -value : value;
}

std::vector<float> rough_buffer(std::int64_t count, int rank) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = rough(i, rank);
  return values;
}

std::vector<float> sequential_sum(std::int64_t count, int ranks) {
  std::vector<float> sums = rough_buffer(count, 0);
  for (int rank = 1; rank < ranks; ++rank)
    for (std::int64_t i = 0; i < count; ++i) sums[static_cast<std::size_t>(i)] += rough(i, rank);
  return sums;
}

constexpr std::int64_t kCount = 10'007;

}  // namespace

TEST_CASE("all ranks get the same bits") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks})
    for (const std::int64_t count : {1, 1000, 100'003}) {
      auto memory = rough_buffer(count, ranks.rank());
      const ls::Tensor values = ls::borrow(memory.data(), {count});
      ranks.all_reduce(values, ls::ReduceOp::sum, order).wait();
      REQUIRE(same_on_all_ranks(ranks, values));
      if (count > 1000) continue;  // 16-bit results are rounded once, on one rank
      ls::Tensor halves =
          ls::tensor(rough_buffer(count, ranks.rank()), {count}).to(ls::DType::bfloat16);
      ranks.all_reduce(halves, ls::ReduceOp::sum, order).wait();
      REQUIRE(same_on_all_ranks(ranks, halves));
    }
}

TEST_CASE("the sum in rank order is the sequential sum, however the buffer is cut") {
  const ls::Communicator& ranks = test_environment().ranks();
  const auto wanted = sequential_sum(kCount, ranks.size());
  for (const bool small : {false, true})
    for (const std::int64_t bucket : {kCount, std::int64_t{1000}, std::int64_t{333}}) {
      std::optional<SmallExchanges> exchanges;
      if (small) exchanges.emplace(50);
      auto memory = rough_buffer(kCount, ranks.rank());
      std::vector<ls::Work> works;
      for (std::int64_t begin = 0; begin < kCount; begin += bucket)
        works.push_back(
            ranks.all_reduce(ls::borrow(memory.data() + begin, {std::min(bucket, kCount - begin)}),
                             ls::ReduceOp::sum, ls::SumOrder::ranks));
      for (ls::Work& work : works) work.wait();
      CAPTURE(small, bucket);
      REQUIRE(std::memcmp(memory.data(), wanted.data(), sizeof(float) * kCount) == 0);
    }
}

TEST_CASE("reduce_scatter in rank order gives the bits of all_reduce in rank order") {
  const ls::Communicator& ranks = test_environment().ranks();
  const std::int64_t part = 1001;
  const auto wanted = sequential_sum(part * ranks.size(), ranks.size());
  const ls::Tensor input =
      ls::tensor(rough_buffer(part * ranks.size(), ranks.rank()), {part * ranks.size()});
  ls::Tensor output = ls::zeros({part});
  ranks.reduce_scatter(input, output, ls::ReduceOp::sum, ls::SumOrder::ranks).wait();
  REQUIRE(std::memcmp(output.data<float>(), wanted.data() + part * ranks.rank(),
                      sizeof(float) * part) == 0);
}

TEST_CASE("a NaN of any rank reaches all ranks") {
  const ls::Communicator& ranks = test_environment().ranks();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ls::ReduceOp op : {ls::ReduceOp::sum, ls::ReduceOp::min, ls::ReduceOp::max})
    for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks})
      for (int origin = 0; origin < ranks.size(); ++origin) {
        std::vector<float> memory(64, 1.0F);
        if (ranks.rank() == origin)
          for (const std::size_t place : {0, 31, 63}) memory[place] = nan;
        // A second NaN with other bits: which one wins must not depend on the rank.
        if (ranks.rank() == (origin + 1) % ranks.size()) memory[31] = -nan;
        const ls::Tensor values = ls::borrow(memory.data(), {64});
        ranks.all_reduce(values, op, order).wait();
        CAPTURE(static_cast<int>(op), static_cast<int>(order), origin);
        for (std::size_t i = 0; i < memory.size(); ++i)
          REQUIRE(std::isnan(memory[i]) == (i == 0 || i == 31 || i == 63));
        REQUIRE(same_on_all_ranks(ranks, values));
      }
}
