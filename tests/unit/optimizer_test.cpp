// Optimizers in closed form: where epsilon goes, what decay means, who is left alone.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>

namespace ls = lockstep;

namespace {

ls::Parameter scalar(double value, ls::DType dtype = ls::DType::float64) {
  return ls::Parameter{ls::full({}, value, dtype)};
}
ls::ParameterList list_of(const ls::Parameter& parameter) {
  ls::ParameterList list;
  list.push_back({"w", parameter.share()});
  return list;
}
/// Brings the parameter this gradient, added to what it has.
void give(const ls::Parameter& parameter, double gradient) {
  (parameter.value() * gradient).backward();
}
double value(const ls::Parameter& parameter) {
  return parameter.value().to(ls::DType::float64).item<double>();
}

}  // namespace

TEST_CASE("Adam adds epsilon after the bias correction (pytorch/pytorch#22628)") {
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64}) {
    const ls::Parameter w = scalar(0, dtype);
    ls::optim::Adam adam{list_of(w), {.learning_rate = 1}};
    give(w, 1e-8);
    adam.step();
    CHECK(value(w) == Approx(-0.5).margin(1e-4));
  }
}

TEST_CASE("Adam feeds the decay into the gradient, AdamW takes it off the value") {
  for (const double gradient : {0.0, 2.0}) {
    const ls::Parameter l2 = scalar(1);
    ls::optim::Adam adam{list_of(l2), {.learning_rate = 0.01, .weight_decay = 0.1}};
    give(l2, gradient);
    adam.step();
    CHECK(value(l2) == Approx(0.99).epsilon(1e-6));

    const ls::Parameter decoupled = scalar(1);
    ls::optim::AdamW adamw{list_of(decoupled), {.learning_rate = 0.01, .weight_decay = 0.1}};
    give(decoupled, gradient);
    adamw.step();
    CHECK(value(decoupled) == Approx(gradient == 0 ? 0.999 : 0.989).epsilon(1e-6));
  }
}

TEST_CASE("Adam with gradients 1, 1, -1 goes to 0.9, 0.8, 0.7738007") {
  const ls::Parameter w = scalar(1);
  ls::optim::Adam adam{list_of(w), {.learning_rate = 0.1}};
  const std::array<double, 3> expected{0.9, 0.8, 0.7738007};
  for (int step = 0; step < 3; ++step) {
    adam.zero_grad();
    give(w, step < 2 ? 1 : -1);
    adam.step();
    CHECK(value(w) == Approx(expected[static_cast<std::size_t>(step)]).margin(1e-7));
  }
  CHECK(adam.step_count() == 3);
}

TEST_CASE("SGD follows its formulas") {
  const ls::Parameter plain = scalar(1);
  ls::optim::Sgd sgd{list_of(plain), {.learning_rate = 0.5, .weight_decay = 0.25}};
  give(plain, 1);
  sgd.step();
  CHECK(value(plain) == 1 - 0.5 * 1.25);

  const ls::Parameter heavy = scalar(0);
  ls::optim::Sgd momentum{list_of(heavy), {.learning_rate = 1, .momentum = 0.5, .dampening = 0.25}};
  for (int step = 0; step < 3; ++step) {
    momentum.zero_grad();
    give(heavy, 1);
    momentum.step();
  }
  // v = 1; 0.5 + 0.75; 0.625 + 0.75
  CHECK(value(heavy) == -(1 + 1.25 + 1.375));

  const ls::Parameter ahead = scalar(0);
  ls::optim::Sgd nesterov{list_of(ahead), {.learning_rate = 1, .momentum = 0.5, .nesterov = true}};
  for (int step = 0; step < 2; ++step) {
    nesterov.zero_grad();
    give(ahead, 1);
    nesterov.step();
  }
  // v = 1, moves by 1 + 0.5; v = 1.5, moves by 1 + 0.75
  CHECK(value(ahead) == -(1.5 + 1.75));
}

TEST_CASE("gradients add up until zero_grad, which makes the next backward overwrite") {
  const ls::Parameter w = scalar(0);
  ls::optim::Sgd sgd{list_of(w), {.learning_rate = 1}};
  give(w, 1);
  give(w, 2);
  CHECK(w.gradient().item<double>() == 3);
  sgd.step();
  CHECK(value(w) == -3);
  sgd.zero_grad();
  CHECK_FALSE(w.has_gradient());
  give(w, 0.5);
  CHECK(w.gradient().item<double>() == 0.5);
}

TEST_CASE("a parameter without gradient gets no update, no decay, no moment and no step") {
  const ls::Parameter idle = scalar(1);
  const ls::Parameter busy = scalar(1);
  ls::ParameterList both = list_of(idle);
  both.push_back({"busy", busy.share()});
  ls::optim::AdamW adam{both, {.learning_rate = 0.1, .weight_decay = 0.5}};
  for (int step = 0; step < 2; ++step) {
    adam.zero_grad();
    give(busy, 1);
    adam.step();
  }
  CHECK(value(idle) == 1);
  // Its first own step is corrected as a first step: without decay it moves by the learning rate.
  adam.zero_grad();
  give(idle, 7);
  adam.step();
  CHECK(value(idle) == Approx(1 * (1 - 0.1 * 0.5) - 0.1).epsilon(1e-7));
}

TEST_CASE("SGD starts the momentum of a late parameter at its first gradient") {
  const ls::Parameter late = scalar(0);
  const ls::Parameter busy = scalar(0);
  ls::ParameterList both = list_of(late);
  both.push_back({"busy", busy.share()});
  ls::optim::Sgd sgd{both, {.learning_rate = 1, .momentum = 0.5, .dampening = 0.5}};
  give(busy, 1);
  sgd.step();
  sgd.zero_grad();
  give(late, 1);
  sgd.step();
  CHECK(value(late) == -1);
}

TEST_CASE("a frozen parameter is left alone, and taken up again when it is unfrozen") {
  ls::Parameter w = scalar(1);
  ls::optim::AdamW adam{list_of(w), {.learning_rate = 0.1, .weight_decay = 0}};
  give(w, 1);
  w.freeze();
  adam.step();
  CHECK(value(w) == 1);
  w.unfreeze();
  adam.zero_grad();
  give(w, 1);
  adam.step();
  CHECK(value(w) == Approx(0.9));
}

TEST_CASE("groups have options of their own, and their rates can be changed") {
  const ls::Parameter fast = scalar(0);
  const ls::Parameter slow = scalar(0);
  using Group = ls::optim::Group<ls::optim::SgdOptions>;
  const std::array<Group, 2> groups{Group{list_of(fast), {.learning_rate = 1}},
                                    Group{list_of(slow), {.learning_rate = 0.5}}};
  ls::optim::Sgd sgd{groups};
  CHECK(sgd.group_count() == 2);
  CHECK(sgd.parameters().size() == 2);
  (fast.value() + slow.value()).backward();
  sgd.step();
  CHECK(value(fast) == -1);
  CHECK(value(slow) == -0.5);
  sgd.set_learning_rate(1, 0.25);
  CHECK(sgd.learning_rate(0) == 1);
  CHECK(sgd.learning_rate(1) == 0.25);
  sgd.step();
  CHECK(value(slow) == -0.75);
  sgd.set_learning_rate(0.125);
  CHECK(sgd.learning_rate(0) == 0.125);
  CHECK(sgd.learning_rate(1) == 0.125);
  CHECK_THROWS_AS(sgd.set_learning_rate(2, 1), ls::InvalidUsage);
  CHECK_THROWS_AS(sgd.learning_rate(2), ls::InvalidUsage);
}

TEST_CASE("options that make no sense, and parameters in two groups, are refused") {
  const ls::Parameter w = scalar(0);
  CHECK_THROWS_AS(ls::optim::Sgd(list_of(w), {.nesterov = true}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::optim::Sgd(list_of(w), {.momentum = 0.5, .dampening = 0.5, .nesterov = true}),
                  ls::InvalidUsage);
  using Group = ls::optim::Group<ls::optim::AdamOptions>;
  const std::array<Group, 2> twice{Group{list_of(w), {}}, Group{list_of(w), {}}};
  CHECK_THROWS_AS(ls::optim::Adam(twice), ls::InvalidUsage);
}

TEST_CASE("a moved optimizer goes on where it was") {
  const ls::Parameter w = scalar(1);
  ls::optim::Adam first{list_of(w), {.learning_rate = 0.1}};
  give(w, 1);
  first.step();
  ls::optim::Adam second = std::move(first);
  second.step();
  CHECK(value(w) == Approx(0.8));
  CHECK(second.step_count() == 2);
}

TEST_CASE("clipping scales all gradients by one factor, after accumulation") {
  // Two micro-batches of [2, 0] and [0, 2] (modelscope/twinkle#290).
  const ls::Parameter w{ls::zeros({2}, ls::DType::float64)};
  const ls::ParameterList list = list_of(w);
  ls::sum(w.value() * ls::tensor({2.0, 0.0}, {2})).backward();
  ls::sum(w.value() * ls::tensor({0.0, 2.0}, {2})).backward();
  CHECK(ls::optim::gradient_norm(list) == Approx(std::sqrt(8.0)));
  CHECK(ls::optim::clip_gradient_norm(list, 1.0) == Approx(std::sqrt(8.0)));
  for (const double g : w.gradient().to_vector<double>()) CHECK(g == Approx(0.70711).margin(1e-5));
}

TEST_CASE("a norm below the limit leaves the gradients as they are") {
  const ls::Parameter w = scalar(0);
  give(w, 0.8);
  CHECK(ls::optim::clip_gradient_norm(list_of(w), 1.0) == Approx(0.8));
  CHECK(w.gradient().item<double>() == 0.8);
}

TEST_CASE("parameters without gradient count as zero in the norm") {
  const ls::Parameter with = scalar(0);
  const ls::Parameter without = scalar(0);
  ls::ParameterList both = list_of(with);
  both.push_back({"without", without.share()});
  CHECK(ls::optim::clip_gradient_norm(both, 1.0) == 0);
  give(with, -3);
  CHECK(ls::optim::clip_gradient_norm(both, 1.5) == 3);
  CHECK(with.gradient().item<double>() == Approx(-1.5).epsilon(1e-6));
  CHECK_FALSE(without.has_gradient());
}

TEST_CASE("without momentum there is no dampening, whatever the other groups do") {
  ls::Parameter a{ls::full({}, 0.0)};
  ls::Parameter b{ls::full({}, 0.0)};
  std::vector<ls::optim::Group<ls::optim::SgdOptions>> groups;
  for (ls::Parameter* parameter : {&a, &b}) {
    ls::ParameterList list;
    list.push_back({parameter == &a ? "a" : "b", parameter->share()});
    groups.push_back({std::move(list),
                      {.learning_rate = 1,
                       .momentum = parameter == &a ? 0.0 : 0.9,
                       .dampening = parameter == &a ? 0.5 : 0.0}});
  }
  ls::optim::Sgd sgd{groups};
  for (int step = 0; step < 2; ++step) {
    sgd.zero_grad();
    (a.value() + b.value()).backward();
    sgd.step();
  }
  CHECK(a.value().item() == -2);
}

TEST_CASE("a parameter that is listed twice counts once in the norm") {
  ls::Parameter w{ls::full({}, 1.0)};
  (w.value() * 3.0).backward();
  ls::ParameterList list;
  list.push_back({"w", w.share()});
  list.push_back({"again", w.share()});
  CHECK(ls::optim::clip_gradient_norm(list, 1) == Approx(3));
  CHECK(w.gradient().item() == Approx(1));
}
