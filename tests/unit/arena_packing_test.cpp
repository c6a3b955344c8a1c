// Packing: the first optimizer over parameters lays them out together. Handles stay valid, and what
// would be torn off is refused.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/optim/sgd.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {

std::uintptr_t address(const ls::Parameter& parameter) {
  return reinterpret_cast<std::uintptr_t>(parameter.value().raw_data());
}

ls::ParameterList list_of(const ls::Parameter& parameter, const char* name = "w") {
  ls::ParameterList list;
  list.push_back({name, parameter.share()});
  return list;
}

}  // namespace

TEST_CASE("packed parameters lie in one piece of memory at 64-byte boundaries") {
  ls::nn::Linear model{3, 5};
  const ls::optim::Sgd sgd{ls::parameters(model)};
  const std::uintptr_t weight = address(model.weight());
  const std::uintptr_t bias = address(model.bias());
  CHECK(weight % 64 == 0);
  CHECK(bias % 64 == 0);
  // 15 floats need one line of 64 bytes, 5 floats another.
  CHECK((weight > bias ? weight - bias : bias - weight) == 64);
}

TEST_CASE("values and handles survive packing") {
  ls::nn::Linear model{3, 5};
  ls::Tensor handle = model.weight().value();
  const ls::Parameter tied = model.weight().share();
  const auto before = handle.to_vector();
  ls::optim::Sgd sgd{ls::parameters(model), {.learning_rate = 1}};
  CHECK(handle.to_vector() == before);
  CHECK(model.weight().value().to_vector() == before);

  ls::sum(model.weight().value()).backward();
  sgd.step();
  CHECK(handle.to_vector()[0] == before[0] - 1);
  CHECK(tied.value().to_vector()[0] == before[0] - 1);
  handle.fill(3);
  CHECK(model.weight().value().to_vector() == std::vector<float>(15, 3));
}

TEST_CASE("a gradient that is there already survives packing") {
  const ls::Parameter weight{ls::full({2}, 1)};
  ls::sum(weight.value() * 3.0).backward();
  ls::optim::Sgd sgd{list_of(weight), {.learning_rate = 0.5}};
  CHECK(weight.gradient().to_vector() == std::vector<float>{3, 3});
  sgd.step();
  CHECK(weight.value().to_vector() == std::vector<float>{-0.5F, -0.5F});
}

TEST_CASE("packing is refused while a view of a parameter is alive, and names it") {
  const ls::Parameter weight{ls::full({2}, 1)};
  ls::Tensor view;
  SECTION("a detached handle") { view = weight.value().detach(); }
  SECTION("another shape") { view = ls::reshape(weight.value().detach(), {2, 1}); }
  SECTION("a reshape on the tape") { view = ls::reshape(weight.value(), {2, 1}); }
  SECTION("a value that the tape saved") { view = weight.value() * weight.value(); }
  CHECK_THROWS_AS(ls::optim::Sgd(list_of(weight, "layer.weight")), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::optim::Sgd(list_of(weight, "layer.weight")), Contains("layer.weight"));
  view = {};
  CHECK_NOTHROW(ls::optim::Sgd(list_of(weight)));
}

TEST_CASE("packing a parameter in borrowed memory is refused") {
  std::array<float, 2> memory{1, 2};
  const ls::Parameter weight{ls::borrow(memory.data(), {2})};
  CHECK_THROWS_AS(ls::optim::Sgd(list_of(weight)), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::optim::Sgd(list_of(weight)), Contains("borrow"));
  CHECK(weight.value().raw_data() == memory.data());
}

TEST_CASE("a refused packing changes nothing") {
  ls::nn::Linear model{3, 5};
  const std::uintptr_t weight = address(model.weight());
  const std::uintptr_t bias = address(model.bias());
  const ls::Tensor view = model.bias().value().detach();
  CHECK_THROWS_AS(ls::optim::Sgd(ls::parameters(model)), ls::InvalidUsage);
  CHECK(address(model.weight()) == weight);
  CHECK(address(model.bias()) == bias);
}

TEST_CASE("once packed, views are allowed and a second optimizer uses the same memory") {
  ls::nn::Linear model{3, 5};
  ls::optim::Sgd first{ls::parameters(model), {.learning_rate = 1}};
  const std::uintptr_t weight = address(model.weight());
  const ls::Tensor view = model.weight().value().detach();
  ls::optim::Sgd second{ls::parameters(model), {.learning_rate = 2}};
  CHECK(address(model.weight()) == weight);

  model.weight().value().fill(10);
  ls::sum(model.weight().value()).backward();
  first.step();
  second.step();
  CHECK(view.to_vector() == std::vector<float>(15, 7));
}

TEST_CASE("parameters outlive the optimizer that packed them") {
  ls::nn::Linear model{2, 2};
  { const ls::optim::Sgd sgd{ls::parameters(model)}; }
  ls::sum(model(ls::full({1, 2}, 1))).backward();
  CHECK(model.bias().gradient().to_vector() == std::vector<float>{1, 1});
  ls::optim::Sgd again{ls::parameters(model), {.learning_rate = 1}};
  model.bias().value().fill(0);
  again.step();
  CHECK(model.bias().value().to_vector() == std::vector<float>{-1, -1});
}

TEST_CASE("an optimizer outlives the model") {
  auto model = std::make_unique<ls::nn::Linear>(2, 2);
  ls::optim::Sgd sgd{ls::parameters(*model)};
  ls::sum((*model)(ls::full({1, 2}, 1))).backward();
  model.reset();
  CHECK_NOTHROW(sgd.step());
  CHECK(sgd.parameters().size() == 2);
}

TEST_CASE("a clone of a packed parameter is free") {
  const ls::Parameter weight{ls::full({2}, 1)};
  const ls::optim::Sgd sgd{list_of(weight)};
  const ls::Parameter copy = weight.clone();
  copy.share().value().fill(9);
  CHECK(weight.value().to_vector() == std::vector<float>{1, 1});
  CHECK_NOTHROW(ls::optim::Sgd(list_of(copy)));
}

TEST_CASE("two dtypes are packed apart and updated together") {
  const ls::Parameter single{ls::full({3}, 1)};
  const ls::Parameter doubled{ls::full({3}, 1, ls::DType::float64)};
  ls::ParameterList both = list_of(single, "single");
  both.push_back({"double", doubled.share()});
  ls::optim::Sgd sgd{both, {.learning_rate = 0.25}};
  (ls::sum(single.value()).to(ls::DType::float64) + ls::sum(doubled.value())).backward();
  sgd.step();
  CHECK(single.value().to_vector() == std::vector<float>(3, 0.75F));
  CHECK(doubled.value().to_vector<double>() == std::vector<double>(3, 0.75));
}

TEST_CASE("a parameter without elements can be packed") {
  const ls::Parameter none{ls::zeros({0, 4})};
  const ls::Parameter some{ls::full({1}, 1)};
  ls::ParameterList both = list_of(none, "none");
  both.push_back({"some", some.share()});
  ls::optim::Sgd sgd{both, {.learning_rate = 1}};
  (ls::sum(none.value()) + ls::sum(some.value())).backward();
  sgd.step();
  CHECK(some.value().item() == 0);
  CHECK(none.gradient().shape() == ls::Shape{0, 4});
}
