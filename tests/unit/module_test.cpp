// Modules are values: names, order, tying, cloning, and surviving moves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <type_traits>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/nn/activation.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

namespace ls = lockstep;

namespace {

std::vector<std::string> names(const ls::ParameterList& parameters) {
  std::vector<std::string> result;
  for (const ls::NamedParameter& named : parameters) result.push_back(named.name);
  return result;
}

struct Net {
  ls::nn::Linear in{4, 3};
  std::vector<ls::nn::Linear> hidden;
  ls::nn::Linear out{ls::Parameter(ls::zeros({2, 3}))};
  ls::Parameter scale{ls::full({}, 2.0)};
  ls::Buffer mean{ls::full({3}, 1.0)};

  Net() {
    hidden.emplace_back(3, 3);
    hidden.emplace_back(3, 3, ls::nn::LinearOptions{.bias = false});
  }
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("in", in);
    visitor("hidden", hidden);
    visitor("out", out);
    visitor("scale", scale);
    visitor("mean", mean);
  }
};

/// An encoder and a decoder of the same weight.
struct Tied {
  ls::nn::Linear first{3, 3, {.bias = false}};
  ls::nn::Linear second{first.weight().share()};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("first", first);
    visitor("second", second);
  }
};

static_assert(ls::Module<Net> && ls::Module<ls::nn::Linear> && ls::Module<ls::nn::ReLU>);
static_assert(!ls::Module<int> && !ls::Module<ls::Tensor>);

}  // namespace

TEST_CASE("parameters are named by their path, in order of registration") {
  Net net;
  CHECK(names(ls::parameters(net)) ==
        std::vector<std::string>{"in.weight", "in.bias", "hidden.0.weight", "hidden.0.bias",
                                 "hidden.1.weight", "out.weight", "scale"});
  const auto buffers = ls::buffers(net);
  REQUIRE(buffers.size() == 1);
  CHECK(buffers[0].name == "mean");
  CHECK(buffers[0].buffer == &net.mean);
}

TEST_CASE("layers of a Sequential are named by their number, at any depth") {
  ls::nn::Sequential inner{ls::nn::Linear{4, 3}, ls::nn::ReLU{}};
  ls::nn::Sequential outer{std::move(inner), ls::nn::Linear{3, 2, {.bias = false}}};
  CHECK(names(ls::parameters(outer)) ==
        std::vector<std::string>{"0.0.weight", "0.0.bias", "1.weight"});
  CHECK(outer(ls::zeros({5, 4})).shape() == ls::Shape{5, 2});
  CHECK(outer.layer<1>().out_features() == 2);
}

TEST_CASE("a Sequential of one layer can be moved and nested") {
  ls::nn::Sequential<ls::nn::Linear> one{ls::nn::Linear{2, 2}};
  ls::nn::Sequential<ls::nn::Sequential<ls::nn::Linear>> nested{one.clone()};
  CHECK(names(ls::parameters(nested)) == std::vector<std::string>{"0.0.weight", "0.0.bias"});
  ls::nn::Sequential<ls::nn::Linear> moved{std::move(one)};
  CHECK(moved(ls::zeros({1, 2})).shape() == ls::Shape{1, 2});
}

TEST_CASE("a tied parameter is listed once, under its first name") {
  Tied tied;
  CHECK(names(ls::parameters(tied)) == std::vector<std::string>{"first.weight"});
  tied.first.weight().value().fill(5);
  CHECK(tied.second.weight().value().to_vector()[0] == 5);
}

TEST_CASE("modules survive moves and the growth of a vector") {
  std::vector<ls::nn::Linear> layers;
  layers.emplace_back(3, 2);
  const ls::Tensor weight = layers[0].weight().value();
  for (int i = 0; i < 10; ++i) layers.emplace_back(3, 2);
  CHECK(layers[0].weight().value().impl() == weight.impl());

  Tied tied;
  Tied moved = std::move(tied);
  CHECK(moved.first.weight().same(moved.second.weight()));
  CHECK(ls::parameters(moved).size() == 1);
}

TEST_CASE("a clone has the same values and nothing else in common") {
  ls::nn::Sequential model{ls::nn::Linear{3, 2}, ls::nn::ReLU{}};
  ls::nn::Sequential copy = model.clone();
  const auto before = model.layer<0>().weight().value().to_vector();
  CHECK(copy.layer<0>().weight().value().to_vector() == before);
  CHECK_FALSE(copy.layer<0>().weight().same(model.layer<0>().weight()));
  copy.layer<0>().weight().value().fill(0);
  CHECK(model.layer<0>().weight().value().to_vector() == before);
  CHECK_FALSE(model.layer<0>().weight().frozen());
  CHECK_FALSE(copy.layer<0>().weight().frozen());
}

TEST_CASE("visit_state reaches every parameter and buffer, tied ones by every name") {
  Tied tied;
  std::vector<std::string> seen;
  ls::visit_state(tied, [&](const std::string& name, auto&) { seen.push_back(name); });
  CHECK(seen == std::vector<std::string>{"first.weight", "second.weight"});
}

TEST_CASE("Linear starts uniformly in one over the root of its inputs, from the seed alone") {
  ls::Generator generator{3};
  const ls::nn::Linear layer{64, 100, generator};
  const auto weight = layer.weight().value().to_vector();
  const auto [low, high] = std::minmax_element(weight.begin(), weight.end());
  CHECK(*low >= -0.125F);
  CHECK(*high < 0.125F);
  CHECK(*low < -0.12F);
  CHECK(*high > 0.12F);
  double sum = 0;
  for (const float value : weight) sum += value;
  CHECK(std::abs(sum / 6400) < 0.005);
  CHECK(layer.bias().shape() == ls::Shape{100});

  ls::Generator again{3};
  CHECK(ls::nn::Linear(64, 100, again).weight().value().to_vector() == weight);
  CHECK(ls::nn::Linear(64, 100, again).weight().value().to_vector() != weight);
}

TEST_CASE("Linear checks the parameters that it is given") {
  CHECK_THROWS_AS(ls::nn::Linear(ls::Parameter(ls::zeros({3}))), ls::ShapeError);
  CHECK_THROWS_AS(ls::nn::Linear(ls::Parameter(ls::zeros({2, 3})), ls::Parameter(ls::zeros({3}))),
                  ls::ShapeError);
  const ls::nn::Linear good{ls::Parameter(ls::zeros({2, 3})), ls::Parameter(ls::zeros({2}))};
  CHECK(good.in_features() == 3);
  CHECK(good.out_features() == 2);
}

TEST_CASE("a parameter is a leaf of floating-point type") {
  const ls::Tensor x = ls::zeros({2}).set_requires_grad(true);
  CHECK_THROWS_AS(ls::Parameter(x * 2.0), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::Parameter(ls::zeros({2}, ls::DType::int64)), ls::InvalidUsage);
  CHECK(ls::Parameter(ls::zeros({2})).value().requires_grad());
  CHECK_FALSE(ls::Parameter{}.defined());
}

TEST_CASE("a parameter's value can be written to, but no other tensor can take its place") {
  static_assert(
      !std::is_assignable_v<decltype(std::declval<ls::Parameter&>().value()), ls::Tensor>);
  static_assert(
      !std::is_assignable_v<decltype(std::declval<const ls::Parameter&>().value()), ls::Tensor>);
  static_assert(std::is_nothrow_move_assignable_v<ls::Tensor>);

  ls::Parameter parameter(ls::zeros({2}));
  const ls::Parameter tied = parameter.share();
  parameter.value().copy_from(ls::tensor({1.0F, 2.0F}, {2}));
  parameter.value().mutable_data<float>()[1] = 5;
  CHECK(tied.value().to_vector() == std::vector<float>{1, 5});
}

TEST_CASE("a const module can be called and gives read-only parameters") {
  const ls::nn::Sequential model{ls::nn::Linear{3, 2}, ls::nn::ReLU{}};
  CHECK(model(ls::zeros({4, 3})).shape() == ls::Shape{4, 2});
  static_assert(std::is_const_v<std::remove_reference_t<decltype(model.layer<0>().weight())>>);
  static_assert(
      std::is_const_v<std::remove_reference_t<decltype(model.layer<0>().weight().value())>>);
}
