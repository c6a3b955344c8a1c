// Every verb on device memory, against integers that every dtype holds exactly.
#include <catch2/catch.hpp>

#include "device_values.hpp"

using namespace test;

namespace {

const std::vector<std::int64_t> kCounts = {0, 1, 7, 1000};

double own(std::int64_t i, int rank) { return static_cast<double>((i * 5 + rank * 3) % 17); }

}  // namespace

TEST_CASE("tensors of the environment's device are on a GPU") {
  REQUIRE(on_gpus());
  REQUIRE(ls::zeros({3}, ls::DType::float32, test_environment().device()).device().kind ==
          ls::DeviceKind::cuda);
}

TEST_CASE("all_reduce sums over the ranks, in both orders") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks})
    for (const ls::DType dtype : kAllDTypes)
      for (const std::int64_t count : kCounts) {
        const ls::Tensor values =
            make_on_device(dtype, count, [&](auto i) { return own(i, ranks.rank()); });
        ranks.all_reduce(values, ls::ReduceOp::sum, order).wait();
        INFO(ls::name(dtype) << " " << count << " order " << static_cast<int>(order));
        REQUIRE(numbers_of(values) == numbers(count, [&](std::int64_t i) {
                  double sum = 0;
                  for (int rank = 0; rank < ranks.size(); ++rank) sum += own(i, rank);
                  return sum;
                }));
      }
}

TEST_CASE("all_reduce takes the least and the greatest") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::ReduceOp op : {ls::ReduceOp::min, ls::ReduceOp::max})
    for (const ls::DType dtype :
         {ls::DType::float32, ls::DType::float64, ls::DType::int64, ls::DType::int32})
      for (const std::int64_t count : kCounts) {
        const ls::Tensor values =
            make_on_device(dtype, count, [&](auto i) { return own(i, ranks.rank()) - 8; });
        ranks.all_reduce(values, op).wait();
        REQUIRE(numbers_of(values) == numbers(count, [&](std::int64_t i) {
                  double extreme = own(i, 0) - 8;
                  for (int rank = 1; rank < ranks.size(); ++rank)
                    extreme = op == ls::ReduceOp::min ? std::min(extreme, own(i, rank) - 8)
                                                      : std::max(extreme, own(i, rank) - 8);
                  return extreme;
                }));
      }
}

TEST_CASE("a NaN of one rank is the least and the greatest on all") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::ReduceOp op : {ls::ReduceOp::min, ls::ReduceOp::max}) {
    const int last = ranks.size() - 1;
    const ls::Tensor values = make_on_device(ls::DType::float32, 5, [&](std::int64_t i) {
      return i == 2 && ranks.rank() == last ? std::nan("") : 1.0;
    });
    ranks.all_reduce(values, op).wait();
    const auto result = numbers_of(values);
    REQUIRE(std::isnan(result[2]));
    REQUIRE(result[1] == 1);
  }
}

TEST_CASE("reduce_scatter gives each rank its part of the sum, in both orders") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks})
    for (const ls::DType dtype : kAllDTypes)
      for (const std::int64_t count : kCounts) {
        const ls::Tensor input = make_on_device(
            dtype, count * ranks.size(), [&](std::int64_t i) { return own(i, ranks.rank()); });
        const ls::Tensor output = make_on_device(dtype, count, [](auto) { return 99; });
        ranks.reduce_scatter(input, output, ls::ReduceOp::sum, order).wait();
        REQUIRE(numbers_of(output) == numbers(count, [&](std::int64_t i) {
                  double sum = 0;
                  for (int rank = 0; rank < ranks.size(); ++rank)
                    sum += own(ranks.rank() * count + i, rank);
                  return sum;
                }));
        // What is given is only read.
        REQUIRE(numbers_of(input) == numbers(count * ranks.size(),
                                             [&](std::int64_t i) { return own(i, ranks.rank()); }));
      }
}

TEST_CASE("all_gather and all_to_all bring the parts of all ranks") {
  const ls::Communicator& ranks = test_environment().ranks();
  const int size = ranks.size();
  for (const ls::DType dtype : kAllDTypes)
    for (const std::int64_t count : kCounts) {
      const ls::Tensor part =
          make_on_device(dtype, count, [&](std::int64_t i) { return own(i, ranks.rank()); });
      const ls::Tensor all = make_on_device(dtype, count * size, [](auto) { return 99; });
      ranks.all_gather(part, all).wait();
      REQUIRE(numbers_of(all) == numbers(count * size, [&](std::int64_t i) {
                return own(i % count, static_cast<int>(i / count));
              }));
      const ls::Tensor input =
          make_on_device(dtype, count * size, [&](std::int64_t i) { return own(i, ranks.rank()); });
      ranks.all_to_all(input, all).wait();
      REQUIRE(numbers_of(all) == numbers(count * size, [&](std::int64_t i) {
                return own(ranks.rank() * count + i % count, static_cast<int>(i / count));
              }));
    }
}

TEST_CASE("broadcast gives every rank the root's values, from any root") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (int root = 0; root < ranks.size(); ++root)
    for (const ls::DType dtype : kAllDTypes)
      for (const std::int64_t count : kCounts) {
        const ls::Tensor values =
            make_on_device(dtype, count, [&](std::int64_t i) { return own(i, ranks.rank()); });
        ranks.broadcast(values, root).wait();
        REQUIRE(numbers_of(values) == numbers(count, [&](std::int64_t i) { return own(i, root); }));
      }
}

TEST_CASE("messages arrive, before and after the first collective of a group") {
  const ls::Communicator ranks = test_environment().ranks().duplicate();
  const int right = (ranks.rank() + 1) % ranks.size();
  const int left = (ranks.rank() + ranks.size() - 1) % ranks.size();
  if (ranks.size() == 1) return;
  for (int round = 0; round < 2; ++round) {
    const ls::Tensor sent = make_on_device(
        ls::DType::int32, 100, [&](std::int64_t i) { return own(i, ranks.rank()) + round; });
    const ls::Tensor received = make_on_device(ls::DType::int32, 100, [](auto) { return 99; });
    ls::Work work;
    // Even ranks send first: NCCL hands messages over, it does not keep them.
    if (ranks.rank() % 2 == 0) work = ranks.send(sent, right);
    ls::Work other = ranks.receive(received, left);
    if (ranks.rank() % 2 == 1) work = ranks.send(sent, right);
    other.wait();
    work.wait();
    REQUIRE(numbers_of(received) ==
            numbers(100, [&](std::int64_t i) { return own(i, left) + round; }));
    const ls::Tensor one = make_on_device(ls::DType::float32, 1, [](auto) { return 1; });
    ranks.all_reduce(one).wait();
    REQUIRE(numbers_of(one) == std::vector<double>{static_cast<double>(ranks.size())});
  }
}

TEST_CASE("groups that were split off have their own traffic") {
  const ls::Communicator& ranks = test_environment().ranks();
  const ls::Communicator half = ranks.split(ranks.rank() % 2, -ranks.rank());
  const ls::Tensor values =
      make_on_device(ls::DType::float64, 3, [&](auto) { return ranks.rank(); });
  const ls::Tensor all = make_on_device(ls::DType::float64, 3, [](auto) { return 1; });
  ls::Work in_half = half.all_reduce(values);
  ls::Work in_all = ranks.all_reduce(all);
  in_all.wait();
  in_half.wait();
  double sum = 0;
  for (int rank = ranks.rank() % 2; rank < ranks.size(); rank += 2) sum += rank;
  REQUIRE(numbers_of(values) == std::vector<double>(3, sum));
  REQUIRE(numbers_of(all) == std::vector<double>(3, ranks.size()));
}

TEST_CASE("what is enqueued before a collective is in it, and what comes after its wait sees it") {
  const ls::Communicator& ranks = test_environment().ranks();
  ls::Tensor values = ls::zeros({4097}, ls::DType::float32, test_environment().device());
  for (int round = 1; round <= 5; ++round) {
    values.fill(round);
    ls::Work work = ranks.all_reduce(values);
    const ls::Tensor unrelated = make_on_device(ls::DType::float32, 3, [](auto) { return 1; });
    work.wait();
    const ls::Tensor copy = values.clone();
    values.fill(-1);
    REQUIRE(numbers_of(copy) ==
            std::vector<double>(4097, static_cast<double>(round) * ranks.size()));
  }
}

TEST_CASE("tensors live until the collective is done, whatever the program does") {
  const ls::Communicator& ranks = test_environment().ranks();
  const ls::Tensor result = ls::zeros({1000}, ls::DType::float32, test_environment().device());
  for (int round = 0; round < 4; ++round) {
    ls::Work work;
    {
      const ls::Tensor input = ls::full({1000 * ranks.size()}, round + 1, ls::DType::float32,
                                        test_environment().device());
      work = ranks.reduce_scatter(input, result);
    }
    // Would get the memory of `input`.
    const ls::Tensor other =
        ls::full({1000 * ranks.size()}, -7, ls::DType::float32, test_environment().device());
    work.wait();
    REQUIRE(numbers_of(result) ==
            std::vector<double>(1000, static_cast<double>(round + 1) * ranks.size()));
  }
}
