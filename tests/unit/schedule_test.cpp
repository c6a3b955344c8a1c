// Learning-rate schedules: per group, resumed, and what is refused.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/schedule.hpp>
#include <lockstep/optim/sgd.hpp>

namespace ls = lockstep;
using ls::optim::cosine;
using ls::optim::Schedule;
using ls::optim::step_decay;

namespace {

/// An optimizer of two groups of one weight each, with the rates 0.5 and 0.25.
struct Two {
  ls::Parameter a{ls::full({1}, 1.0, ls::DType::float64)};
  ls::Parameter b{ls::full({1}, 1.0, ls::DType::float64)};
  ls::optim::Sgd sgd;

  Two() : sgd(groups()) {}

  std::array<ls::optim::Group<ls::optim::SgdOptions>, 2> groups() const {
    std::array<ls::optim::Group<ls::optim::SgdOptions>, 2> both;
    both[0].options = {.learning_rate = 0.5};
    both[0].parameters.push_back({"a", a.share()});
    both[1].options = {.learning_rate = 0.25};
    both[1].parameters.push_back({"b", b.share()});
    return both;
  }
  std::vector<double> rates() const { return {sgd.learning_rate(0), sgd.learning_rate(1)}; }
};

}  // namespace

TEST_CASE("a schedule changes the steps of the optimizer") {
  Two two;
  Schedule schedule{two.sgd, step_decay({.period = 2, .factor = 0.5})};
  double expected = 1;
  for (int step = 0; step < 5; ++step) {
    two.sgd.zero_grad();
    ls::sum(two.a.value() + two.b.value()).backward();
    two.sgd.step();
    schedule.step();
    expected -= 0.5 / (step < 2 ? 1 : step < 4 ? 2 : 4);
  }
  CHECK(two.a.value().item<double>() == expected);
  CHECK(schedule.step_count() == 5);
}

TEST_CASE("each group may have a function of its own, also one of the program") {
  Two two;
  Schedule schedule{two.sgd,
                    {step_decay({.period = 1, .factor = 0.5}), [](double rate, std::int64_t step) {
                       return rate + static_cast<double>(step);
                     }}};
  CHECK(two.rates() == std::vector<double>{0.5, 0.25});
  schedule.step();
  schedule.step();
  CHECK(two.rates() == std::vector<double>{0.125, 2.25});
}

TEST_CASE("a schedule that is resumed at a step gives the bits of one that came there") {
  for (const auto& function :
       {step_decay({.period = 3, .factor = 0.7}),
        cosine({.steps = 30, .warm_up = 7, .warm_up_start = 0.1, .minimum = 1e-3})}) {
    Two walked;
    Schedule there{walked.sgd, function};
    for (int step = 0; step < 40; ++step) {
      Two resumed;
      Schedule here{resumed.sgd, function};
      here.set_step_count(step);
      CHECK(resumed.rates() == walked.rates());
      there.step();
    }
  }
}

TEST_CASE("a cosine starts at its warm-up, passes the rate, and stays at its minimum") {
  const auto function =
      cosine({.steps = 12, .warm_up = 4, .warm_up_start = 0.25, .minimum = 0.125});
  CHECK(function(2, 0) == 0.5);
  CHECK(function(2, 2) == 1.25);
  CHECK(function(2, 4) == 2);
  CHECK(function(2, 8) == Approx((2 + 0.125) / 2));
  for (const std::int64_t step : {12, 13, 1000}) CHECK(function(2, step) == 0.125);
  CHECK(cosine({})(1, 0) == 1);
  CHECK(cosine({})(1, 1) == 0);
}

TEST_CASE("a schedule without sense is refused") {
  CHECK_THROWS_AS(step_decay({.period = 0}), ls::InvalidUsage);
  CHECK_THROWS_AS(step_decay({.period = -1}), ls::InvalidUsage);
  CHECK_THROWS_AS(step_decay({.factor = -0.5}), ls::InvalidUsage);
  CHECK_THROWS_AS(step_decay({.factor = std::nan("")}), ls::InvalidUsage);
  CHECK_THROWS_AS(cosine({.steps = 0}), ls::InvalidUsage);
  CHECK_THROWS_AS(cosine({.steps = 5, .warm_up = 5}), ls::InvalidUsage);
  CHECK_THROWS_AS(cosine({.steps = 5, .warm_up = -1}), ls::InvalidUsage);
  CHECK_THROWS_AS(cosine({.steps = 5, .warm_up_start = -1}), ls::InvalidUsage);
  CHECK_THROWS_AS(cosine({.steps = 5, .minimum = std::nan("")}), ls::InvalidUsage);
  Two two;
  const auto halving = step_decay({.factor = 0.5});
  CHECK_THROWS_AS(Schedule(two.sgd, {halving, halving, halving}), ls::InvalidUsage);
  CHECK_THROWS_AS(Schedule(two.sgd, ls::optim::RateFunction{}), ls::InvalidUsage);
  CHECK(two.rates() == std::vector<double>{0.5, 0.25});
  Schedule schedule{two.sgd, halving};
  CHECK_THROWS_AS(schedule.set_step_count(-1), ls::InvalidUsage);
}
