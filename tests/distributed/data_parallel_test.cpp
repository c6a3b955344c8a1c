// What a replica promises: the mean over ranks, one update of a tied weight, frozen parameters out
// of it, rank 0's weights everywhere.
#include <catch2/catch.hpp>

#include <lockstep/core/error.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using models::gradient;
using models::number;

namespace {

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

struct WithBuffer {
  ls::Parameter weight{ls::full({5}, 10.0 + rank())};
  ls::Parameter frozen{ls::full({3}, 20.0 + rank(), ls::DType::float64)};
  ls::Buffer mean{ls::full({2}, 30.0 + rank())};
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("weight", weight);
    visitor("frozen", frozen);
    visitor("mean", mean);
  }
};

struct Tied {
  models::OneWeight first{3};
  ls::Parameter second = first.w.share();
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("first", first);
    visitor("second", second);
  }
  ls::Tensor operator()(double x) { return second.value() * (first.w.value() * x); }
};

struct Vector {
  ls::Parameter w{ls::zeros({2})};
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("w", w);
  }
  ls::Tensor operator()(const ls::Tensor& x) const { return ls::sum(w.value() * x); }
};

struct Mixed {
  models::OneWeight single{1, ls::DType::float32};
  models::OneWeight twice{1, ls::DType::float64};
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("single", single);
    visitor("twice", twice);
  }
  ls::Tensor operator()(double x) { return single(x).to(ls::DType::float64) + twice(2 * x); }
};

}  // namespace

TEST_CASE("the gradient right after backward is the mean over the ranks") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  for (int step = 0; step < 3; ++step) {
    model.w.value().zero_gradient();
    replica(rank() + 1.0).backward();
    CHECK(gradient(model.w) == Approx((size() + 1) / 2.0));
  }
  CHECK(replica.counters().steps == 3);
}

TEST_CASE("rank 0's parameters and buffers are copied to all ranks") {
  WithBuffer model;
  model.frozen.freeze();
  const ls::Tensor handle = model.weight.value();
  ls::DataParallel replica{model, test_environment()};
  CHECK(model.weight.value().to_vector() == std::vector<float>(5, 10));
  CHECK(model.frozen.value().to_vector<double>() == std::vector<double>(3, 20));
  CHECK(model.mean.value().to_vector() == std::vector<float>(2, 30));
  CHECK(handle.to_vector() == std::vector<float>(5, 10));
}

TEST_CASE("a tied weight is exchanged and updated once (pytorch/pytorch#51929)") {
  Tied model;
  models::OneWeight single;
  ls::DataParallel replica{model, test_environment()};
  ls::DataParallel other{single, test_environment()};
  CHECK(replica.parameters().size() == 1);
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 0.1}};

  replica(rank() + 1.0).backward();
  other(1.0).backward();
  CHECK(gradient(model.first.w) == Approx(6 * (size() + 1) / 2.0));
  CHECK(gradient(single.w) == 1);
  CHECK(replica.counters().bytes_reduced == other.counters().bytes_reduced);
  CHECK(replica.counters().collectives == (size() == 1 ? 0 : 1));
  adam.step();
  CHECK(number(model.first.w.value()) == Approx(2.9));
  CHECK(number(model.second.value()) == Approx(2.9));
}

TEST_CASE("frozen parameters take no part") {
  models::TwoWeights model;
  model.b.freeze();
  ls::DataParallel replica{model, test_environment()};
  ls::optim::AdamW adam{replica.parameters(), {.learning_rate = 0.1, .weight_decay = 0.5}};
  replica(rank() + 1.0, 5.0).backward();
  CHECK(gradient(model.a) == Approx((size() + 1) / 2.0));
  CHECK_FALSE(model.b.has_gradient());
  adam.step();
  CHECK(number(model.b.value()) == 1);

  models::OneWeight single;
  ls::DataParallel other{single, test_environment()};
  other(1.0).backward();
  other.wait();
  CHECK(replica.counters().bytes_reduced == other.counters().bytes_reduced);
}

TEST_CASE("a parameter frozen later counts as zero, and is left alone") {
  models::TwoWeights model;
  ls::DataParallel replica{model, test_environment()};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 1}};
  model.b.freeze();
  replica(1.0, 5.0).backward();
  sgd.step();
  CHECK(number(model.a.value()) == 0);
  CHECK(number(model.b.value()) == 1);
}

TEST_CASE("a parameter unfrozen later is refused by name, as it has no place in the exchange") {
  models::TwoWeights model;
  model.b.freeze();
  ls::DataParallel replica{model, test_environment()};
  model.b.unfreeze();
  CHECK_THROWS_WITH(replica(0.0, 1.0).backward(), Catch::Contains("parameter b"));
}

TEST_CASE("a parameter without gradient is named, and synchronize() completes the step") {
  // pytorch/pytorch#43259: rank 0 uses a and b, the others only a; then the roles swap.
  models::TwoWeights model;
  ls::DataParallel replica{model, test_environment()};
  for (int step = 0; step < 2; ++step) {
    for (auto* parameter : {&model.a, &model.b}) parameter->value().zero_gradient();
    const bool uses_both = (rank() == 0) == (step == 0);
    const auto others = size() - 1;
    if (uses_both) {
      replica(1.0, 2.0).backward();
    } else {
      replica(3.0, 0.0).backward();
      CHECK_THROWS_AS(model.a.gradient(), ls::InvalidUsage);
      CHECK_THROWS_WITH(model.a.gradient(),
                        Catch::Contains("parameter b") &&
                            Catch::Contains("rank " + std::to_string(rank())) &&
                            Catch::Contains("step " + std::to_string(step + 1)));
      replica.synchronize();
    }
    const double both = step == 0 ? 1 : others;  // number of ranks that use a and b
    CHECK(gradient(model.a) == Approx((both * 1 + (size() - both) * 3) / size()));
    if (both > 0 || size() > 1) CHECK(gradient(model.b) == Approx(both * 2 / size()));
  }
}

TEST_CASE("two backwards without zeroing add up to the sum of their means") {
  for (const ls::Averaging averaging : {ls::Averaging::mean, ls::Averaging::sum}) {
    models::OneWeight model;
    ls::DataParallel replica{model, test_environment(), {.averaging = averaging}};
    const double ranks = averaging == ls::Averaging::sum ? size() : 1;
    replica(rank() + 1.0).backward();
    replica(2.0 * (rank() + 1)).backward();
    CHECK(gradient(model.w) == Approx(3 * ranks * (size() + 1) / 2.0));
    replica(rank() + 1.0).backward();
    CHECK(gradient(model.w) == Approx(4 * ranks * (size() + 1) / 2.0));
  }
}

TEST_CASE("what a program writes into a gradient is used by the step") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 1}};
  replica(rank() + 1.0).backward();
  model.w.gradient().fill(0.25);
  sgd.step();
  CHECK(number(model.w.value()) == 0.75);
}

TEST_CASE("the reduced gradient is clipped, once (huggingface/transformers#986)") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  replica(0.8).backward();
  CHECK(ls::optim::clip_gradient_norm(replica.parameters(), 1.0) == Approx(0.8));
  CHECK(gradient(model.w) == Approx(0.8));

  Vector vector;
  ls::DataParallel vectors{vector, test_environment()};
  ls::optim::Sgd sgd{vectors.parameters(), {.learning_rate = 1}};
  // The mean is [1.5, 2] for any number of ranks; its norm is 2.5.
  const auto local = static_cast<float>(rank() == 0 ? size() : 0);
  vectors(ls::tensor({1.5F * local, 2.0F * local}, {2})).backward();
  CHECK(ls::optim::clip_gradient_norm(vectors.parameters(), 1.0) == Approx(2.5));
  sgd.step();
  const auto w = vector.w.value().to_vector();
  CHECK(w[0] == Approx(-0.6));
  CHECK(w[1] == Approx(-0.8));
  CHECK(vector.w.gradient().to_vector()[0] == Approx(0.6));
}

TEST_CASE("a scaled loss is unscaled before it is clipped (pytorch/examples#1196)") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  replica.set_divisor(1024);
  (replica(0.5) * 1024.0).backward();
  CHECK(ls::optim::clip_gradient_norm(replica.parameters(), 1.0) == Approx(0.5));
  CHECK(gradient(model.w) == 0.5);
}

TEST_CASE("several dtypes are exchanged side by side") {
  Mixed model;
  ls::DataParallel replica{model, test_environment()};
  replica(rank() + 1.0).backward();
  CHECK(gradient(model.single.w) == Approx((size() + 1) / 2.0));
  CHECK(gradient(model.twice.w) == Approx(size() + 1.0));
}

TEST_CASE("a backward that leads to no parameter of the replica changes nothing") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  const ls::Tensor other = ls::full({}, 2.0).set_requires_grad(true);
  (other * 3.0).backward();
  CHECK(number(other.gradient()) == 3);
  CHECK_FALSE(model.w.has_gradient());
  CHECK(replica.counters().steps == 0);
}

TEST_CASE("a replica can be moved, and parameters outlive it") {
  models::OneWeight model;
  {
    ls::DataParallel first{model, test_environment()};
    ls::DataParallel replica = std::move(first);
    replica(rank() + 1.0).backward();
    CHECK(gradient(model.w) == Approx((size() + 1) / 2.0));
  }
  model.w.value().zero_gradient();
  model(rank() + 1.0).backward();
  CHECK(gradient(model.w) == rank() + 1);
  ls::DataParallel again{model, test_environment()};
  model.w.value().zero_gradient();
  again(rank() + 1.0).backward();
  CHECK(gradient(model.w) == Approx((size() + 1) / 2.0));
}

TEST_CASE("a second replica over the same parameters is refused") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  CHECK_THROWS_AS(ls::DataParallel(model, test_environment()), ls::InvalidUsage);
}
