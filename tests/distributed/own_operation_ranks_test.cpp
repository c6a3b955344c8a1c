// An own operation inside a replica: the parameters that go through it are exchanged like others.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include <lockstep/core/operation.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;

namespace {

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

struct Scaled {
  ls::Parameter scale{ls::full({5}, 0.5, ls::DType::float64)};
  ls::Parameter shift{ls::full({5}, 0.25, ls::DType::float64)};
  bool own = true;

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("scale", scale);
    visitor("shift", shift);
  }
  ls::Tensor operator()(const ls::Tensor& x) const {
    if (!own) return x * scale + shift;
    const auto scaled = ls::operation(
        [](const ls::Tensor& a, const ls::Tensor& b) { return a * b; },
        [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor& a, const ls::Tensor& b) {
          return std::pair{g * b, g * a};
        });
    return scaled(x, scale) + shift;
  }
};

std::string trained(bool own) {
  Scaled model;
  model.own = own;
  ls::DataParallel replica{model, test_environment(), {.bucket_bytes = 1, .first_bucket_bytes = 1}};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 0.1}};
  ls::Generator generator{5, static_cast<std::uint64_t>(rank())};
  for (int step = 0; step < 5; ++step) {
    const ls::Tensor x = ls::normal({5}, ls::DType::float64, generator);
    adam.zero_grad();
    ls::sum(replica(x) * replica(x)).backward();
    adam.step();
  }
  return models::weight_bytes(replica.parameters());
}

}  // namespace

TEST_CASE("a replica trains through an own operation as through the library's, bit by bit") {
  const std::string own = trained(true);
  const bool same = own == trained(false);
  CHECK(same);
  CHECK(models::same_on_all_ranks(own));
}

TEST_CASE("the gradient of a parameter in an own operation is the mean over the ranks") {
  Scaled model;
  ls::DataParallel replica{model, test_environment()};
  ls::sum(replica(ls::full({5}, rank() + 1.0, ls::DType::float64))).backward();
  CHECK(model.scale.gradient().to_vector<double>() == std::vector<double>(5, (size() + 1) / 2.0));
}

TEST_CASE("a replica goes on after an own backward threw on all ranks") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  bool fails = true;
  const auto unsteady =
      ls::operation([](const ls::Tensor& x) { return x * 1.0; },
                    [&](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) {
                      if (fails) throw std::runtime_error("not today");
                      return g;
                    });
  CHECK_THROWS_WITH(unsteady(replica(rank() + 1.0)).backward(), "not today");
  CHECK(replica.counters().collectives == 0);
  fails = false;
  unsteady(replica(rank() + 1.0)).backward();
  CHECK(models::gradient(model.w) == Approx((size() + 1) / 2.0));
}
