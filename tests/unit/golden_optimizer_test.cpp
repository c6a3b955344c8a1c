// Ten steps of every optimizer, and clipping, against PyTorch's results in float32 and float64.
#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include <lockstep/core/operations.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>

#include "golden/golden.hpp"

namespace ls = lockstep;

namespace {

constexpr const char* kOptimizers =
#include "golden/optimizers.inc"
    ;

constexpr std::size_t kParameters = 3;
constexpr int kSteps = 10;

template <class Kind, class Options>
std::unique_ptr<ls::optim::Optimizer> make(const ls::ParameterList& p, const Options& first,
                                           const Options& second) {
  std::array<ls::optim::Group<Options>, 2> groups;
  groups[0].options = first;
  groups[0].parameters.push_back({p[0].name, p[0].parameter.share()});
  groups[0].parameters.push_back({p[1].name, p[1].parameter.share()});
  groups[1].options = second;
  groups[1].parameters.push_back({p[2].name, p[2].parameter.share()});
  return std::make_unique<Kind>(groups);
}

/// As optimizers() in make_golden.py makes them.
std::unique_ptr<ls::optim::Optimizer> optimizer(const std::string& name,
                                                const ls::ParameterList& p) {
  using ls::optim::Adam;
  using ls::optim::AdamOptions;
  using ls::optim::AdamW;
  using ls::optim::AdamWOptions;
  using ls::optim::Sgd;
  using ls::optim::SgdOptions;
  if (name == "sgd_plain")
    return make<Sgd, SgdOptions>(p, {.learning_rate = 0.05}, {.learning_rate = 0.1});
  if (name == "sgd_momentum")
    return make<Sgd, SgdOptions>(p, {.learning_rate = 0.05, .momentum = 0.9},
                                 {.learning_rate = 0.1, .momentum = 0.9});
  if (name == "sgd_dampening")
    return make<Sgd, SgdOptions>(p, {.learning_rate = 0.05, .momentum = 0.9, .dampening = 0.25},
                                 {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1});
  if (name == "sgd_nesterov")
    return make<Sgd, SgdOptions>(
        p, {.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true},
        {.learning_rate = 0.1});
  if (name == "adam_plain")
    return make<Adam, AdamOptions>(p, {.learning_rate = 1e-3}, {.learning_rate = 0.01});
  if (name == "adam_options")
    return make<Adam, AdamOptions>(
        p,
        {.learning_rate = 0.02, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4, .weight_decay = 0.1},
        {.learning_rate = 0.01});
  if (name == "adamw_plain")
    return make<AdamW, AdamWOptions>(p, {.learning_rate = 1e-3}, {.learning_rate = 0.01});
  if (name == "adamw_options")
    return make<AdamW, AdamWOptions>(
        p,
        {.learning_rate = 0.02, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4, .weight_decay = 0.5},
        {.learning_rate = 0.01, .weight_decay = 0});
  FAIL("no optimizer for " << name);
  return nullptr;
}

ls::ParameterList parameters_of(const std::vector<golden::Values>& values, ls::DType dtype) {
  ls::ParameterList parameters;
  for (const golden::Values& value : values)
    parameters.push_back({std::to_string(parameters.size()), ls::Parameter(value.tensor(dtype))});
  return parameters;
}

/// Gives each parameter its gradient of this step; those of "none" get none.
void give_gradients(const ls::ParameterList& parameters, const golden::Values* gradients,
                    ls::DType dtype) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!gradients[i].elements.empty())
      ls::sum(parameters[i].parameter.value() * gradients[i].tensor(dtype)).backward();
}

bool is_shown(int step) { return step <= 2 || (step >= 4 && step <= 6) || step == kSteps; }

}  // namespace

TEST_CASE("ten steps of every optimizer agree with PyTorch") {
  const std::vector<golden::Case> cases = golden::read(kOptimizers);
  const golden::Case& sequence = cases[0];
  REQUIRE(sequence.upstream.size() == kSteps * kParameters);
  int tried = 0;
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64})
    for (const golden::Case& expected : cases) {
      if (!expected.name.starts_with("sgd") && !expected.name.starts_with("adam")) continue;
      ++tried;
      const ls::ParameterList parameters = parameters_of(sequence.inputs, dtype);
      const auto updater = optimizer(expected.name, parameters);
      auto result = expected.results(dtype).outputs.begin();
      for (int step = 1; step <= kSteps; ++step) {
        if (step == 6) updater->set_learning_rate(1, updater->learning_rate(1) / 2);
        updater->zero_grad();
        give_gradients(parameters, &sequence.upstream[(step - 1) * kParameters], dtype);
        updater->step();
        for (std::size_t i = 0; is_shown(step) && i < kParameters; ++i) {
          INFO(expected.name << " " << name(dtype) << ", step " << step << ", parameter " << i);
          CHECK(golden::difference(parameters[i].parameter.value(), *result++,
                                   golden::tolerance(dtype)) == "");
        }
      }
      CHECK(result == expected.results(dtype).outputs.end());
    }
  CHECK(tried == 16);
}

TEST_CASE("clipping agrees with PyTorch") {
  int tried = 0;
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64})
    for (const golden::Case& expected : golden::read(kOptimizers)) {
      if (!expected.name.starts_with("clip")) continue;
      ++tried;
      INFO(expected.name << " " << name(dtype));
      const ls::ParameterList parameters = parameters_of(expected.inputs, dtype);
      give_gradients(parameters, expected.inputs.data(), dtype);
      const double norm =
          ls::optim::clip_gradient_norm(parameters, std::stod(expected.options.at("limit")));
      const golden::Results& results = expected.results(dtype);
      CHECK(norm == Approx(results.outputs[0].elements[0]).epsilon(golden::tolerance(dtype)));
      for (std::size_t i = 0; i < kParameters; ++i)
        CHECK(golden::difference(parameters[i].parameter.gradient(), results.gradients[i],
                                 golden::tolerance(dtype)) == "");
    }
  CHECK(tried == 6);
}
