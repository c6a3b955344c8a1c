#include <catch2/catch.hpp>

#include <algorithm>

#include "largest_message.hpp"
#include "support/test_environment.hpp"
#include "values.hpp"

using namespace test;

namespace {

constexpr std::int64_t kCounts[] = {0, 1, 2, 3, 20, 257, 1000};

double own_value(std::int64_t i, int rank) { return static_cast<double>((i + 5 * rank) % 11); }

std::vector<double> expected(std::int64_t count, int ranks, ls::ReduceOp op) {
  return numbers(count, [&](std::int64_t i) {
    double result = own_value(i, 0);
    for (int rank = 1; rank < ranks; ++rank) {
      const double value = own_value(i, rank);
      if (op == ls::ReduceOp::sum) result += value;
      if (op == ls::ReduceOp::min) result = std::min(result, value);
      if (op == ls::ReduceOp::max) result = std::max(result, value);
    }
    return result;
  });
}

bool has_extremes(ls::DType dtype) {
  return dtype != ls::DType::bfloat16 && dtype != ls::DType::float16 && dtype != ls::DType::uint8;
}

void check_all_reduce(std::int64_t count, ls::DType dtype, ls::ReduceOp op, ls::SumOrder order) {
  const ls::Communicator& ranks = test_environment().ranks();
  CAPTURE(count, ls::name(dtype), static_cast<int>(op), static_cast<int>(order));
  ls::Tensor values =
      make(dtype, count, [&](std::int64_t i) { return own_value(i, ranks.rank()); });
  ranks.all_reduce(values, op, order).wait();
  REQUIRE(numbers(values) == expected(count, ranks.size(), op));
}

void check_reduce_scatter(std::int64_t count, ls::DType dtype, ls::ReduceOp op,
                          ls::SumOrder order) {
  const ls::Communicator& ranks = test_environment().ranks();
  CAPTURE(count, ls::name(dtype), static_cast<int>(op), static_cast<int>(order));
  const std::int64_t whole = count * ranks.size();
  const ls::Tensor input =
      make(dtype, whole, [&](std::int64_t i) { return own_value(i, ranks.rank()); });
  ls::Tensor output = ls::zeros({count}, dtype);
  ranks.reduce_scatter(input, output, op, order).wait();
  const auto all = expected(whole, ranks.size(), op);
  const auto begin = all.begin() + ranks.rank() * count;
  REQUIRE(numbers(output) == std::vector<double>(begin, begin + count));
}

void check_everything() {
  for (const ls::DType dtype : kAllDTypes)
    for (const ls::ReduceOp op : {ls::ReduceOp::sum, ls::ReduceOp::min, ls::ReduceOp::max}) {
      if (op != ls::ReduceOp::sum && !has_extremes(dtype)) continue;
      for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks})
        for (const std::int64_t count : kCounts) {
          check_all_reduce(count, dtype, op, order);
          check_reduce_scatter(count, dtype, op, order);
        }
    }
}

}  // namespace

TEST_CASE("reductions give the exact result for every dtype, count and order") {
  check_everything();
}

TEST_CASE("reductions give the exact result in many small pieces") {
  const SmallExchanges small;
  check_everything();
}

TEST_CASE("reductions give the exact result beyond one slice of the usual size") {
  for (const std::int64_t count : {700'001, 2'000'003})
    for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
      check_all_reduce(count, ls::DType::float32, ls::ReduceOp::sum, order);
      check_reduce_scatter(count / 4, ls::DType::float32, ls::ReduceOp::sum, order);
    }
}

TEST_CASE("a buffer of 20 with 7 elements per call is reduced completely") {
  const SmallExchanges small(7);
  const ls::Communicator& ranks = test_environment().ranks();
  largest_message();
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
    ls::Tensor values = make(ls::DType::float32, 20, [&](std::int64_t i) {
      return static_cast<double>(i + 100 * ranks.rank());
    });
    ranks.all_reduce(values, ls::ReduceOp::sum, order).wait();
    const int size = ranks.size();
    REQUIRE(numbers(values) == numbers(20, [&](std::int64_t i) {
              return static_cast<double>(size * i + 100 * (size * (size - 1) / 2));
            }));
    const int largest = largest_message();
    REQUIRE(largest <= 7);
    REQUIRE((size == 1 || largest > 0));
  }
}

TEST_CASE("a reduction in place of the own part of the input works") {
  const ls::Communicator& ranks = test_environment().ranks();
  std::vector<float> memory(static_cast<std::size_t>(10 * ranks.size()));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const ls::Tensor input = ls::borrow(memory.data(), {10 * ranks.size()});
  const ls::Tensor output = ls::borrow(memory.data() + 10 * ranks.rank(), {10});
  ranks.reduce_scatter(input, output).wait();
  REQUIRE(numbers(output) == numbers(10, [&](std::int64_t i) {
            return static_cast<double>(ranks.size() * (10 * ranks.rank() + i));
          }));
}

TEST_CASE("several reductions in flight end in any order of waiting") {
  const ls::Communicator& ranks = test_environment().ranks();
  std::vector<ls::Tensor> tensors;
  std::vector<ls::Work> works;
  for (int k = 0; k < 20; ++k) {
    tensors.push_back(make(k % 2 == 0 ? ls::DType::float32 : ls::DType::float16, 100 + 50 * k,
                           [&](std::int64_t) { return k + ranks.rank(); }));
    works.push_back(ranks.all_reduce(tensors.back(), ls::ReduceOp::sum,
                                     k % 3 == 0 ? ls::SumOrder::ranks : ls::SumOrder::fastest));
  }
  for (std::size_t k = works.size(); k-- > 0;) {
    if (k % 4 == 0)
      while (!works[k].done()) {
      }
    works[k].wait();
    const int size = ranks.size();
    const double sum = static_cast<double>(size) * static_cast<double>(k) + size * (size - 1) / 2;
    REQUIRE(numbers(tensors[k]) ==
            numbers(tensors[k].element_count(), [&](std::int64_t) { return sum; }));
  }
}
