// Environments, communicators and replicas of a host program may go away in any order.
#include <catch2/catch.hpp>
#include <memory>

#include <lockstep/core/error.hpp>
#include <lockstep/interop/mpi.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using models::gradient;
using models::number;

namespace {

using Replica = ls::DataParallel<models::OneWeight>;

/// A host's own communicator over all ranks.
class Host {
 public:
  Host() { MPI_Comm_dup(MPI_COMM_WORLD, &communicator_); }
  ~Host() { free(); }
  MPI_Comm communicator() const { return communicator_; }
  void free() {
    if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
  }
  int size() const {
    int size = 0;
    MPI_Comm_size(communicator_, &size);
    return size;
  }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace

TEST_CASE("the host may free its communicator while lockstep works on") {
  Host host;
  const double expected = (host.size() + 1) / 2.0;
  ls::Environment env = ls::mpi::environment(host.communicator());
  host.free();
  models::OneWeight model;
  ls::DataParallel replica{model, env};
  replica(env.rank() + 1.0).backward();
  CHECK(gradient(model.w) == Approx(expected));
  env.close();
}

TEST_CASE("a communicator refuses to work after its environment was closed") {
  const Host host;
  models::OneWeight model;
  std::unique_ptr<Replica> replica;
  ls::Communicator ranks;
  {
    ls::Environment env = ls::mpi::environment(host.communicator());
    ranks = env.ranks();
    replica = std::make_unique<Replica>(model, env);
    env.close();
    env.close();
  }
  if (ranks.size() > 1) {
    CHECK_THROWS_AS(ranks.barrier(), ls::Error);
    CHECK_THROWS_AS((*replica)(1.0).backward(), ls::Error);
  }
  CHECK(number(model.w.value()) == 1);
}

TEST_CASE("an environment that is destroyed without close() takes nothing down") {
  const Host host;
  models::OneWeight model;
  std::unique_ptr<Replica> replica;
  {
    const ls::Environment env = ls::mpi::environment(host.communicator());
    replica = std::make_unique<Replica>(model, env);
    (*replica)(env.rank() + 1.0).backward();
    CHECK(gradient(model.w) == Approx((env.size() + 1) / 2.0));
  }
  CHECK(number(model.w.value()) == 1);
  test_environment().ranks().barrier();
}

TEST_CASE("several environments live side by side, over different ranks") {
  const Host host;
  int rank = 0;
  MPI_Comm_rank(host.communicator(), &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(host.communicator(), rank % 2, 0, &half);
  ls::Environment all = ls::mpi::environment(host.communicator());
  ls::Environment some = ls::mpi::environment(half);
  models::OneWeight first;
  models::OneWeight second;
  ls::DataParallel a{first, all};
  ls::DataParallel b{second, some};
  for (int step = 0; step < 3; ++step) {
    for (auto* model : {&first, &second}) model->w.value().zero_gradient();
    a(all.rank() + 1.0).backward();
    b(some.rank() + 1.0).backward();
    CHECK(gradient(second.w) == Approx((some.size() + 1) / 2.0));
    CHECK(gradient(first.w) == Approx((all.size() + 1) / 2.0));
  }
  some.close();
  all.close();
  MPI_Comm_free(&half);
}

TEST_CASE("an optimizer outlives the replica, and then takes the gradients as they are") {
  models::OneWeight model;
  std::unique_ptr<ls::optim::Sgd> sgd;
  {
    ls::DataParallel replica{model, test_environment()};
    sgd = std::make_unique<ls::optim::Sgd>(replica.parameters(),
                                           ls::optim::SgdOptions{.learning_rate = 1});
  }
  model(2.0).backward();
  sgd->step();
  CHECK(number(model.w.value()) == -1);
}

TEST_CASE("a communicator may be kept after the replica that was made from it is gone") {
  models::OneWeight model;
  ls::Communicator ranks;
  {
    const ls::DataParallel replica{model, test_environment()};
    ranks = replica.ranks();
  }
  CHECK(ranks.agree(true));
}

TEST_CASE("a replica refers to its model, so a temporary is refused") {
  using Model = models::OneWeight;
  CHECK(std::is_constructible_v<Replica, Model&, ls::Environment&>);
  CHECK_FALSE(std::is_constructible_v<Replica, Model, ls::Environment&>);
  CHECK_FALSE(std::is_copy_constructible_v<Replica>);
}
