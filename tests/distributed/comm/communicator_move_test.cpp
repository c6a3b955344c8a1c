// The verbs that move data without arithmetic.
#include <catch2/catch.hpp>

#include <optional>

#include "largest_message.hpp"
#include "support/test_environment.hpp"
#include "values.hpp"

using namespace test;

namespace {

constexpr std::int64_t kCounts[] = {0, 1, 20, 1003};

double value_of(std::int64_t i, int from, int to) {
  return static_cast<double>((i + 3 * from + 7 * to) % 100);
}

void check_moves(ls::DType dtype, std::int64_t count) {
  const ls::Communicator& ranks = test_environment().ranks();
  const int rank = ranks.rank();
  const int size = ranks.size();
  CAPTURE(ls::name(dtype), count);

  const ls::Tensor own = make(dtype, count, [&](std::int64_t i) { return value_of(i, rank, 0); });
  ls::Tensor gathered = ls::zeros({count * size}, dtype);
  ranks.all_gather(own, gathered).wait();
  REQUIRE(numbers(gathered) == numbers(count * size, [&](std::int64_t i) {
            return value_of(i % count, static_cast<int>(i / count), 0);
          }));

  const ls::Tensor parts = make(dtype, count * size, [&](std::int64_t i) {
    return value_of(i % count, rank, static_cast<int>(i / count));
  });
  ls::Tensor exchanged = ls::zeros({count * size}, dtype);
  ranks.all_to_all(parts, exchanged).wait();
  REQUIRE(numbers(exchanged) == numbers(count * size, [&](std::int64_t i) {
            return value_of(i % count, static_cast<int>(i / count), rank);
          }));

  for (int root = 0; root < size; ++root) {
    ls::Tensor values = make(
        dtype, count, [&](std::int64_t i) { return rank == root ? value_of(i, root, 1) : 0.0; });
    ranks.broadcast(values, root).wait();
    REQUIRE(numbers(values) ==
            numbers(count, [&](std::int64_t i) { return value_of(i, root, 1); }));
  }

  if (size == 1) return;
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  ls::Tensor received = ls::zeros({count}, dtype);
  ls::Work receiving = ranks.receive(received, left, 5);
  ls::Work sending = ranks.send(own, right, 5);
  receiving.wait();
  sending.wait();
  REQUIRE(numbers(received) ==
          numbers(count, [&](std::int64_t i) { return value_of(i, left, 0); }));
}

}  // namespace

TEST_CASE("data arrives where it belongs for every dtype and count") {
  for (const ls::DType dtype : kAllDTypes)
    for (const std::int64_t count : kCounts) check_moves(dtype, count);
}

TEST_CASE("data arrives where it belongs in many small messages") {
  const SmallExchanges small(7);
  largest_message();
  for (const ls::DType dtype : kAllDTypes)
    for (const std::int64_t count : kCounts) check_moves(dtype, count);
  REQUIRE(largest_message() == (test_environment().size() == 1 ? 0 : 7));
}

TEST_CASE("data arrives where it belongs in messages that need the receiver") {
  check_moves(ls::DType::float32, 300'001);
}

TEST_CASE("an all_gather may read its own part of the output") {
  const ls::Communicator& ranks = test_environment().ranks();
  std::vector<std::int32_t> memory(static_cast<std::size_t>(5 * ranks.size()), -1);
  for (int i = 0; i < 5; ++i) memory[static_cast<std::size_t>(5 * ranks.rank() + i)] = ranks.rank();
  const ls::Tensor output = ls::borrow(memory.data(), {5 * ranks.size()});
  const ls::Tensor input = ls::borrow(memory.data() + 5 * ranks.rank(), {5});
  ranks.all_gather(input, output).wait();
  REQUIRE(numbers(output) ==
          numbers(5 * ranks.size(), [](std::int64_t i) { return static_cast<double>(i / 5); }));
}

TEST_CASE("messages with different tags do not meet each other, nor collectives") {
  const ls::Communicator& ranks = test_environment().ranks();
  if (ranks.size() < 2) return;
  const auto filled = [](double value) { return ls::full({100}, value); };
  if (ranks.rank() == 0) {
    ls::Work second = ranks.send(filled(2), 1, 2);
    ls::Work first = ranks.send(filled(1), 1, 1);
    ls::Work zero = ranks.send(filled(0.5), 1, 0);
    ls::Tensor sum = filled(1);
    ranks.all_reduce(sum).wait();
    for (ls::Work* work : {&first, &second, &zero}) work->wait();
  } else {
    ls::Tensor first = filled(0), second = filled(0), zero = filled(0), sum = filled(1);
    ls::Work work = ranks.all_reduce(sum);
    if (ranks.rank() == 1) {
      ranks.receive(first, 0, 1).wait();
      ranks.receive(second, 0, 2).wait();
      ranks.receive(zero, 0, 0).wait();
      REQUIRE(numbers(first)[99] == 1);
      REQUIRE(numbers(second)[99] == 2);
      REQUIRE(numbers(zero)[99] == 0.5);
    }
    work.wait();
    REQUIRE(numbers(sum)[99] == ranks.size());
  }
}
