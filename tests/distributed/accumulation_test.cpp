// Windows of several micro-batches: one exchange, the right divisor, nothing left over.
#include <catch2/catch.hpp>
#include <limits>

#include <lockstep/core/error.hpp>
#include <lockstep/optim/optimizer.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using models::gradient;
using models::number;

namespace {

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

/// The logged loss and the gradient of 8 samples x = 1 .. 8 with w = 1, run as so many micro-
/// batches on each of `used` ranks; on the other ranks, nothing.
struct Result {
  double loss = 0;
  double gradient = 0;
};
Result run(int used, int micro_batches) {
  const ls::Communicator group = test_environment().ranks().split(rank() < used ? 0 : -1);
  if (rank() >= used) return {4.5, 4.5};
  models::OneWeight model;
  ls::DataParallel replica{model, group, ls::Device::cpu()};
  ls::AccumulationWindow window{replica, micro_batches};
  const int per_batch = 8 / used / micro_batches;
  Result result;
  for (int m = 0; m < micro_batches; ++m) {
    double sum = 0;
    for (int k = 0; k < per_batch; ++k) sum += 8 / used * group.rank() + m * per_batch + k + 1;
    const ls::Tensor loss = replica(sum / per_batch);
    result.loss += number(loss) / micro_batches;
    CHECK(window.backward(loss) == (m + 1 == micro_batches));
  }
  ls::Tensor total = ls::full({}, result.loss, ls::DType::float64);
  group.all_reduce(total).wait();
  return {number(total) / used, gradient(model.w)};
}

}  // namespace

TEST_CASE("eight samples give gradient and loss 4.5 however they are cut (horovod#1535)") {
  for (const auto& [ranks, micro_batches] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 8}, {2, 4}, {2, 1}, {4, 2}, {4, 1}}) {
    if (ranks > size()) continue;
    INFO(ranks << " ranks, " << micro_batches << " micro-batches");
    const Result result = run(ranks, micro_batches);
    CHECK(result.gradient == Approx(4.5));
    CHECK(result.loss == Approx(4.5));
  }
}

TEST_CASE("under no_sync nothing is exchanged, and the next backward exchanges all of it") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  {
    const auto guard = replica.no_sync();
    replica(rank() + 1.0).backward();
    CHECK(gradient(model.w) == rank() + 1);
    replica(rank() + 1.0).backward();
  }
  CHECK(replica.counters().collectives == 0);
  replica(rank() + 1.0).backward();
  CHECK(gradient(model.w) == Approx(3 * (size() + 1) / 2.0));
  CHECK(replica.counters().collectives == (size() > 1 ? replica.bucket_count() : 0));
  CHECK(replica.counters().steps == 1);
}

TEST_CASE("a parameter that only an early micro-batch touched is exchanged") {
  models::TwoWeights model;
  ls::DataParallel replica{model, test_environment()};
  {
    const auto guard = replica.no_sync();
    replica(1.0, rank() + 1.0).backward();
  }
  replica(rank() + 1.0, 0.0).backward();
  CHECK(gradient(model.a) == Approx(1 + (size() + 1) / 2.0));
  CHECK(gradient(model.b) == Approx((size() + 1) / 2.0));
}

TEST_CASE("no_sync nests, and ends with its scope also when an exception is thrown") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  try {
    const auto outer = replica.no_sync();
    { const auto inner = replica.no_sync(); }
    replica(1.0).backward();
    CHECK(gradient(model.w) == 1);
    throw ls::InvalidUsage("out of here");
  } catch (const ls::InvalidUsage&) {
  }
  replica(rank() + 1.0).backward();
  CHECK(gradient(model.w) == Approx(1 + (size() + 1) / 2.0));
}

TEST_CASE("a window exchanges once per bucket, whatever its number of micro-batches") {
  for (const std::int64_t micro_batches : {1, 2, 5}) {
    models::TwoWeights model;
    ls::DataParallel replica{
        model, test_environment(), {.bucket_bytes = 1, .first_bucket_bytes = 1}};
    CHECK(replica.bucket_count() == 2);
    ls::AccumulationWindow window{replica, micro_batches};
    for (int step = 0; step < 3; ++step) {
      for (auto* parameter : {&model.a, &model.b}) parameter->value().zero_gradient();
      for (std::int64_t m = 0; m < micro_batches; ++m) window.backward(replica(1.0, 2.0));
      replica.wait();
    }
    CHECK(replica.counters().steps == 3);
    CHECK(replica.counters().collectives == (size() > 1 ? 6 : 0));
  }
}

TEST_CASE("a shorter last window counts the micro-batches that it had") {
  models::OneWeight model{0};
  ls::DataParallel replica{model, test_environment()};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 1}};
  ls::AccumulationWindow window{replica, 4};
  const double mean_rank = (size() - 1) / 2.0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    int steps = 0;
    model.w.value().fill(0);
    for (int batch = 0; batch < 6; ++batch)
      if (window.backward(replica(batch + rank()))) {
        CHECK(gradient(model.w) == Approx(1.5 + mean_rank));
        sgd.step();
        sgd.zero_grad();
        ++steps;
      }
    REQUIRE(window.finish());
    CHECK(gradient(model.w) == Approx(4.5 + mean_rank));
    sgd.step();
    sgd.zero_grad();
    CHECK(steps == 1);
    CHECK_FALSE(window.finish());
    CHECK_FALSE(model.w.has_gradient());
    CHECK(number(model.w.value()) == Approx(-(6 + 2 * mean_rank)));
  }
}

TEST_CASE("a window refuses what would mix two windows") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  CHECK_THROWS_AS(ls::AccumulationWindow(replica, 0), ls::InvalidUsage);
  CHECK_THROWS_AS(replica.set_divisor(0), ls::InvalidUsage);
  ls::AccumulationWindow window{replica, 1};
  window.backward(replica(1.0));
  replica.wait();
  CHECK_THROWS_WITH(window.backward(replica(1.0)), Catch::Contains("zero_grad"));
}

TEST_CASE("clipping works on the mean of the whole window") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  ls::AccumulationWindow window{replica, 2};
  window.backward(replica(2.0 * size() * (rank() == 0)));
  window.backward(replica(4.0 * size() * (rank() == 0)));
  CHECK(ls::optim::clip_gradient_norm(replica.parameters(), 1.5) == Approx(3));
  CHECK(gradient(model.w) == Approx(1.5).epsilon(1e-5));
}

TEST_CASE("samples decide in a weighted average, also where a rank has none") {
  // allenai/OLMo-core#657: rank r has r samples with gradient 2 r each, so rank 0 has none.
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::weighted}};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 1}};
  replica.set_sample_count(rank());
  if (rank() == 0)
    replica.synchronize();
  else
    replica(2.0 * rank()).backward();
  const double expected = size() == 1 ? 0 : 2 * (2.0 * size() - 1) / 3;
  CHECK(gradient(model.w) == Approx(expected));
  sgd.step();
  CHECK(number(model.w.value()) == Approx(1 - expected));

  // Then a step in which nobody has any.
  sgd.zero_grad();
  replica.set_sample_count(0);
  replica.synchronize();
  CHECK(gradient(model.w) == 0);
  sgd.step();
  CHECK(number(model.w.value()) == Approx(1 - expected));
}

TEST_CASE("a NaN of a rank without samples reaches nobody") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::weighted}};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 1}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool others_have_samples : {true, false}) {
    sgd.zero_grad();
    const bool has_samples = others_have_samples && rank() > 0;
    replica.set_sample_count(has_samples ? 3 : 0);
    replica(has_samples ? 2.0 : nan).backward();
    CHECK(gradient(model.w) == (others_have_samples && size() > 1 ? 2 : 0));
    sgd.step();
  }
  CHECK(number(model.w.value()) == (size() > 1 ? -1 : 1));
}

TEST_CASE("a sum over ranks is not divided") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::sum}};
  replica(rank() + 1.0).backward();
  CHECK(gradient(model.w) == Approx(size() * (size() + 1) / 2.0));
}
