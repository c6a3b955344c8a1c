// Learning-rate schedules, and modules that are made of others, against PyTorch's.
#include <array>
#include <catch2/catch.hpp>

#include <lockstep/core/module.hpp>
#include <lockstep/nn/mlp.hpp>
#include <lockstep/nn/residual.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/schedule.hpp>
#include <lockstep/optim/sgd.hpp>

#include "golden/golden.hpp"

namespace ls = lockstep;

namespace {

constexpr const char* kTraining =
#include "golden/training.inc"
    ;

ls::optim::RateFunction function_of(const golden::Case& expected) {
  const auto number = [&](const char* key) { return std::stod(expected.options.at(key)); };
  const auto whole = [&](const char* key) { return std::stoll(expected.options.at(key)); };
  if (expected.name == "step_decay")
    return ls::optim::step_decay({.period = whole("period"), .factor = number("factor")});
  return ls::optim::cosine({.steps = whole("steps"),
                            .warm_up = whole("warm_up"),
                            .warm_up_start = number("warm_up_start"),
                            .minimum = number("minimum")});
}

ls::optim::Sgd two_groups() {
  using Group = ls::optim::Group<ls::optim::SgdOptions>;
  std::array<Group, 2> groups;
  groups[0].options = {.learning_rate = 0.1};
  groups[1].options = {.learning_rate = 0.02};
  for (Group& group : groups) group.parameters.push_back({"weight", ls::Parameter(ls::zeros({1}))});
  return ls::optim::Sgd(groups);
}

template <class Model>
void check_module(Model model, const golden::Case& expected, ls::DType dtype) {
  ls::ParameterList parameters = ls::parameters(model);
  std::string names;
  for (const auto& [name, parameter] : parameters) names += (names.empty() ? "" : ",") + name;
  REQUIRE(names == expected.options.at("names"));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i].parameter.value().copy_from(expected.inputs[i + 1].tensor(dtype));

  ls::eval(model);
  const ls::Tensor x = expected.inputs[0].tensor(dtype).set_requires_grad(true);
  const ls::Tensor output = model(x);
  const golden::Results& results = expected.results(dtype);
  CHECK(golden::difference(output, results.outputs[0], golden::tolerance(dtype)) == "");
  output.backward(expected.upstream[0].tensor(dtype));
  CHECK(golden::difference(x.gradient(), results.gradients[0], golden::tolerance(dtype)) == "");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    INFO("gradient of " << parameters[i].name);
    CHECK(golden::difference(parameters[i].parameter.gradient(), results.gradients[i + 1],
                             golden::tolerance(dtype)) == "");
  }
}

}  // namespace

TEST_CASE("the rates of every step agree with PyTorch's schedulers") {
  int tried = 0;
  for (const golden::Case& expected : golden::read(kTraining)) {
    if (expected.name != "step_decay" && expected.name != "cosine") continue;
    ++tried;
    ls::optim::Sgd sgd = two_groups();
    ls::optim::Schedule schedule{sgd, function_of(expected)};
    const golden::Values& rates = expected.float64.outputs[0];
    std::vector<double> found;
    for (std::int64_t step = 0; step < rates.shape[0]; ++step) {
      for (std::size_t group = 0; group < 2; ++group) found.push_back(sgd.learning_rate(group));
      sgd.step();
      schedule.step();
    }
    INFO(expected.name << " " << tried);
    CHECK(golden::difference(ls::tensor(found, rates.shape), rates,
                             golden::tolerance(ls::DType::float64)) == "");
  }
  CHECK(tried == 6);
}

TEST_CASE("Mlp and Residual have the names, values and gradients of PyTorch's modules") {
  using namespace ls::nn;
  int tried = 0;
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64})
    for (const golden::Case& expected : golden::read(kTraining)) {
      INFO(expected.name << " " << name(dtype));
      tried += expected.inputs.empty() ? 0 : 1;
      const LinearOptions options{.dtype = dtype};
      if (expected.name == "mlp")
        check_module(Mlp<GELU>{{5, 7, 4, 3}, {.dtype = dtype}}, expected, dtype);
      if (expected.name == "mlp_dropout")
        check_module(Mlp{{5, 7, 3}, {.dropout = 0.25, .bias = false, .dtype = dtype}}, expected,
                     dtype);
      if (expected.name == "residual")
        check_module(
            Sequential{Residual{Mlp{{4, 6, 4}, {.dtype = dtype}}}, ReLU{}, Linear{4, 2, options}},
            expected, dtype);
    }
  CHECK(tried == 6);
}
