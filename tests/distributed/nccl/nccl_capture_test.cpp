// Collectives in steps that are recorded once and replayed.
#include <catch2/catch.hpp>

#include <chrono>
#include <memory>

#include <lockstep/core/captured_step.hpp>
#include <lockstep/core/error.hpp>

#include "device_values.hpp"
#include "emulation/control.hpp"

using namespace test;

namespace {

double own(std::int64_t i, int rank, int round) {
  return static_cast<double>((i * 5 + rank * 3 + round) % 17);
}

/// Sums its input over the ranks.
ls::CapturedStep<ls::Tensor(ls::Tensor)> summing_step(const ls::Communicator& ranks,
                                                      ls::SumOrder order) {
  return ls::CapturedStep<ls::Tensor(ls::Tensor)>{[ranks, order](const ls::Tensor& input) {
    const ls::Tensor sum = input.clone();
    ranks.all_reduce(sum, ls::ReduceOp::sum, order).wait();
    return sum;
  }};
}

}  // namespace

TEST_CASE("each replay of a step exchanges its own numbers") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
    auto step = summing_step(ranks, order);
    for (int round = 0; round < 8; ++round) {
      const ls::Tensor input = make_on_device(
          ls::DType::float32, 1000, [&](std::int64_t i) { return own(i, ranks.rank(), round); });
      REQUIRE(numbers_of(step(input)) == numbers(1000, [&](std::int64_t i) {
                double sum = 0;
                for (int rank = 0; rank < ranks.size(); ++rank) sum += own(i, rank, round);
                return sum;
              }));
    }
    REQUIRE(step.replay_count() > 3);
  }
}

TEST_CASE("a rank that does not replay is named at the deadline") {
  const ls::Communicator ranks = test_environment().ranks().duplicate();
  if (ranks.size() == 1) return;
  const ls::Tensor input = make_on_device(ls::DType::float32, 3, [](auto) { return 1; });
  auto step = summing_step(ranks, ls::SumOrder::fastest);
  for (int round = 0; round < 5; ++round) numbers_of(step(input));
  REQUIRE(step.replay_count() > 0);
  ranks.set_timeout(std::chrono::seconds{1});
  const int last = ranks.size() - 1;
  if (ranks.rank() != last) try {
      numbers_of(step(input));
      FAIL("it went through");
    } catch (const ls::CommunicationError& error) {
      const std::string text = error.what();
      INFO(text);
      REQUIRE(text.find("[nccl] all_reduce of 3 float32") != std::string::npos);
      REQUIRE(text.find("rank " + std::to_string(last) + " did not arrive") != std::string::npos);
    }
  test_environment().ranks().barrier();
  REQUIRE_THROWS_AS((ranks.all_reduce(input).wait(), numbers_of(input)), ls::CommunicationError);
  // And nothing of the recording is launched any more.
  const std::int64_t launches = emulation::counters().graph_launches;
  REQUIRE_THROWS_AS(step(input), ls::CommunicationError);
  REQUIRE(emulation::counters().graph_launches == launches);
}

TEST_CASE("a recording whose communicator is gone is not replayed") {
  const ls::Tensor input = make_on_device(ls::DType::float32, 3, [](auto) { return 1; });
  auto ranks = std::make_unique<ls::Communicator>(test_environment().ranks().duplicate());
  if (ranks->size() == 1) return;
  ls::CapturedStep step{[&](const ls::Tensor& x) {
    const ls::Tensor sum = x.clone();
    ranks->all_reduce(sum).wait();
    return sum;
  }};
  for (int round = 0; round < 5; ++round) numbers_of(step(input));
  ranks.reset();
  REQUIRE_THROWS_WITH(step(input), Catch::Contains("is gone"));
  test_environment().ranks().barrier();
}
