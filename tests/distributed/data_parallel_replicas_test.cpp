// Several replicas at once: each has traffic of its own, so they may be used in any interleaving.
#include <catch2/catch.hpp>

#include <lockstep/optim/sgd.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using models::gradient;
using models::number;

namespace {

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

}  // namespace

TEST_CASE("two replicas are exchanged in another order on each rank") {
  models::OneWeight first;
  models::OneWeight second;
  ls::DataParallel a{first, test_environment()};
  ls::DataParallel b{second, test_environment()};
  ls::Generator generator{9, static_cast<std::uint64_t>(rank())};
  for (int step = 0; step < 20; ++step) {
    for (auto* model : {&first, &second}) model->w.value().zero_gradient();
    const bool a_first = generator.below(2) == 0;
    if (a_first) a(rank() + 1.0).backward();
    b(2.0 * (rank() + 1)).backward();
    if (!a_first) a(rank() + 1.0).backward();
    if (generator.below(2) == 0) a.wait();
    b.wait();
    CHECK(gradient(first.w) == Approx((size() + 1) / 2.0));
    CHECK(gradient(second.w) == Approx(size() + 1.0));
  }
}

TEST_CASE("a loss over two models brings both their gradients in one backward") {
  models::OneWeight first{2};
  models::OneWeight second{3};
  ls::DataParallel a{first, test_environment()};
  ls::DataParallel b{second, test_environment()};
  (a(rank() + 1.0) * b(1.0)).backward();
  CHECK(gradient(first.w) == Approx(3 * (size() + 1) / 2.0));
  CHECK(gradient(second.w) == Approx(2 * (size() + 1) / 2.0));
  CHECK(a.counters().steps == 1);
  CHECK(b.counters().steps == 1);
}

TEST_CASE("a model that is only passed through can be kept out by no_sync or freezing") {
  models::OneWeight generator{2};
  models::OneWeight critic{3};
  ls::DataParallel g{generator, test_environment()};
  ls::DataParallel c{critic, test_environment()};
  {
    const auto guard = c.no_sync();
    (g(rank() + 1.0) * c(1.0)).backward();
  }
  CHECK(gradient(generator.w) == Approx(3 * (size() + 1) / 2.0));
  CHECK(c.counters().collectives == 0);
  critic.w.value().zero_gradient();
  c(rank() + 1.0).backward();
  CHECK(gradient(critic.w) == Approx((size() + 1) / 2.0));
}

TEST_CASE("an exchange that nobody waited for is finished by the next backward") {
  models::OneWeight model{0};
  ls::DataParallel replica{model, test_environment()};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 1}};
  replica(100.0).backward();
  sgd.zero_grad();
  replica(rank() + 1.0).backward();
  sgd.step();
  CHECK(number(model.w.value()) == Approx(-(size() + 1) / 2.0));
  CHECK(replica.counters().steps == 2);
}

TEST_CASE("a replica may go away while its exchange is in flight") {
  models::OneWeight model;
  {
    ls::DataParallel replica{model, test_environment()};
    replica(rank() + 1.0).backward();
  }
  test_environment().ranks().barrier();
  CHECK(number(model.w.value()) == 1);
}

TEST_CASE("replicas over parts of the ranks train apart from each other") {
  const ls::Communicator group = test_environment().ranks().split(rank() % 2);
  models::OneWeight model{static_cast<double>(rank() % 2)};
  ls::DataParallel replica{model, group, ls::Device::cpu()};
  replica(group.rank() + 1.0).backward();
  CHECK(gradient(model.w) == Approx((group.size() + 1) / 2.0));
  CHECK(number(model.w.value()) == rank() % 2);
}

TEST_CASE("an embedded model can be trained beside its own communication") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  for (int step = 0; step < 5; ++step) {
    model.w.value().zero_gradient();
    replica(rank() + 1.0).backward();
    ls::Tensor total = ls::full({3}, 1);
    test_environment().ranks().all_reduce(total).wait();
    CHECK(total.to_vector()[2] == static_cast<float>(size()));
    CHECK(test_environment().ranks().agree(true));
    CHECK(gradient(model.w) == Approx((size() + 1) / 2.0));
  }
}
