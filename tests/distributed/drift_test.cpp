// Ways in which ranks could come to differ without a message.
#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/lockstep.hpp>

#include "models.hpp"

namespace {

namespace ls = lockstep;
using models::OneWeight;
using models::TwoWeights;

const ls::Communicator& ranks() { return test_environment().ranks(); }
int rank() { return ranks().rank(); }
int size() { return ranks().size(); }
double sum_of_ranks() { return size() * (size() + 1) / 2.0; }  // of rank + 1

}  // namespace

TEST_CASE("memory that is adjacent on one rank only is summed like with like") {
  std::vector<float> memory(8);
  const bool apart = rank() % 2 == 1;
  float* a = &memory[0];
  float* b = &memory[apart ? 5 : 2];
  if (rank() % 3 == 2) std::swap(a, b);
  ls::GradientSynchronizer synchronizer{ranks(), {.averaging = ls::Averaging::sum}};
  const auto id_a = synchronizer.add("a", ls::borrow(a, {2}));
  const auto id_b = synchronizer.add("b", ls::borrow(b, {2}));
  synchronizer.commit();
  a[0] = a[1] = 1;
  b[0] = b[1] = 2;
  synchronizer.ready(id_a);
  synchronizer.ready(id_b);
  synchronizer.finish();
  CHECK((a[0] == size() && a[1] == size()));
  CHECK((b[0] == 2 * size() && b[1] == 2 * size()));
}

TEST_CASE("windows of different lengths give the mean over all micro-batches on all ranks") {
  OneWeight model(0);
  ls::DataParallel replica{model, test_environment()};
  ls::AccumulationWindow window{replica, 10};
  for (int i = 0; i <= rank(); ++i) window.backward(model(rank() + 1));
  CHECK(window.finish());
  double sum = 0;
  for (int r = 0; r < size(); ++r) sum += (r + 1) * (r + 1);
  CHECK(model.w.gradient().item() == Approx(sum / sum_of_ranks()));
}

TEST_CASE("a window under an outer no_sync is refused") {
  OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  ls::AccumulationWindow window{replica, 1};
  const auto guard = replica.no_sync();
  CHECK_THROWS_AS(window.backward(model(1)), ls::InvalidUsage);
}

TEST_CASE("a window whose gradients were zeroed starts anew") {
  OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  ls::AccumulationWindow window{replica, 2};
  CHECK_FALSE(window.backward(model(100)));
  model.w.value().zero_gradient();
  CHECK_FALSE(window.backward(model(6)));
  CHECK(window.backward(model(10)));
  CHECK(model.w.gradient().item() == 8);
}

TEST_CASE("gradients of a replica that went away in the middle of an exchange are of no use") {
  if (size() == 1) return;
  OneWeight model(1);
  ls::optim::Sgd sgd{ls::parameters(model), {.learning_rate = 1}};
  {
    ls::DataParallel replica{model, test_environment()};
    model(rank() + 1).backward();
  }
  CHECK_THROWS_AS(sgd.step(), ls::InvalidUsage);
  CHECK_THROWS_AS(model.w.gradient(), ls::InvalidUsage);
  sgd.zero_grad();
  model(3).backward();
  CHECK(model.w.gradient().item() == 3);
  ls::DataParallel next{model, test_environment()};
  sgd.zero_grad();
  model(rank() + 1).backward();
  CHECK(model.w.gradient().item() == Approx(sum_of_ranks() / size()));
}

TEST_CASE("freezing on one rank alone is an error, on all ranks it is not") {
  TwoWeights model;
  ls::DataParallel replica{model, test_environment()};
  if (size() > 1) {
    if (rank() == 0) model.b.freeze();
    (model.a.value() + model.b.value()).backward();
    CHECK_THROWS_AS(replica.wait(), ls::InvalidUsage);
    model.a.value().zero_gradient();
    model.b.value().zero_gradient();
  }
  model.b.freeze();
  (model.a.value() * (rank() + 1.0) + model.b.value()).backward();
  CHECK(model.a.gradient().item() == Approx(sum_of_ranks() / size()));
  CHECK_FALSE(model.b.has_gradient());
}

TEST_CASE("a parameter that was frozen at the start is refused under no_sync as well") {
  TwoWeights model;
  model.b.freeze();
  ls::DataParallel replica{model, test_environment()};
  model.b.unfreeze();
  const auto guard = replica.no_sync();
  CHECK_THROWS_AS((model.a.value() + model.b.value()).backward(), ls::InvalidUsage);
}

TEST_CASE("a divisor would divide an average of before again, so it is refused") {
  OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  replica.set_divisor(2);
  model(4).backward();
  CHECK_THROWS_AS(replica.set_divisor(2), ls::InvalidUsage);
  CHECK(model.w.gradient().item() == 2);
  model(8).backward();
  CHECK(model.w.gradient().item() == 10);
  model.w.value().zero_gradient();
  replica.set_divisor(2);
  model(8).backward();
  CHECK(model.w.gradient().item() == 4);
}

TEST_CASE("gradients in the same memory, or in memory that is only read, are refused") {
  float memory[4] = {};
  ls::GradientSynchronizer synchronizer{ranks()};
  synchronizer.add("x", ls::borrow(memory, {3}));
  synchronizer.add("y", ls::borrow(memory + 2, {2}));
  CHECK_THROWS_AS(synchronizer.commit(), ls::InvalidUsage);
  const float constant[1] = {};
  ls::GradientSynchronizer other{ranks()};
  CHECK_THROWS_AS(other.add("x", ls::borrow(constant, {1})), ls::InvalidUsage);
}

TEST_CASE("weighted: the number of samples has to be said, unless there is nothing") {
  OneWeight model;
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::weighted}};
  if (size() == 1) {
    CHECK_THROWS_AS(model(1).backward(), ls::InvalidUsage);
    return;
  }
  const bool without = rank() == 0;
  if (without) {
    replica.synchronize();
  } else {
    replica.set_sample_count(rank() + 1);
    model(rank() + 1).backward();
  }
  double sum = 0;
  double samples = 0;
  for (int r = 1; r < size(); ++r) {
    sum += (r + 1) * (r + 1);
    samples += r + 1;
  }
  CHECK(model.w.gradient().item() == Approx(sum / samples));
}

TEST_CASE("weighted: halves are refused, which weights would overflow") {
  ls::GradientSynchronizer synchronizer{ranks(), {.averaging = ls::Averaging::weighted}};
  CHECK_THROWS_AS(synchronizer.add("x", ls::zeros({1}, ls::DType::float16)), ls::InvalidUsage);
}

TEST_CASE("nothing is copied for the exchange of a replica, and one more line travels") {
  ls::nn::Sequential model{ls::nn::Linear{5, 3}, ls::nn::Linear{3, 2}};
  ls::DataParallel replica{model, test_environment(), {.bucket_bytes = 64}};
  for (int step = 0; step < 3; ++step) {
    ls::sum(replica(ls::full({2, 5}, rank()))).backward();
    replica.wait();
    for (const auto& [name, parameter] : replica.parameters()) {
      auto value = parameter.value();
      value.zero_gradient();
    }
  }
  CHECK(replica.counters().bytes_copied == 0);
  CHECK(replica.counters().bytes_reduced == (size() == 1 ? 0 : 3 * 64 * (1 + 1 + 1 + 1 + 1)));
}
