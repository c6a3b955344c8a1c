// Every operation, forward and backward, against PyTorch's results in float32 and float64.
#include <catch2/catch.hpp>
#include <string_view>

#include <lockstep/core/operations.hpp>

#include "golden/golden.hpp"

namespace ls = lockstep;

namespace {

constexpr const char* kOperations =
#include "golden/operations.inc"
    ;

using Inputs = std::vector<ls::Tensor>;

ls::Reduction reduction_of(const golden::Case& expected) {
  return expected.options.at("reduction") == "sum" ? ls::Reduction::sum : ls::Reduction::mean;
}

/// Calls the operation that the name of the case starts with.
ls::Tensor call(const golden::Case& expected, const Inputs& in) {
  const std::string_view name = expected.name;
  if (name == "add_number") return in[0] + 0.375;
  if (name == "mul_number") return in[0] * -2.5;
  if (name == "relu") return ls::relu(in[0]);
  if (name == "gelu_tanh") return ls::gelu_tanh(in[0]);
  if (name == "reshape") return ls::reshape(in[0], {4, -1});
  if (name.starts_with("add_")) return in[0] + in[1];
  if (name.starts_with("sub_")) return in[0] - in[1];
  if (name.starts_with("mul_")) return in[0] * in[1];
  if (name.starts_with("sum_")) return ls::sum(in[0]);
  if (name.starts_with("mean_")) return ls::mean(in[0]);
  if (name.starts_with("matmul_")) return ls::matmul(in[0], in[1]);
  if (name.starts_with("linear_"))
    return in.size() == 3 ? ls::linear(in[0], in[1], in[2]) : ls::linear(in[0], in[1]);
  if (name.starts_with("cross_entropy_"))
    return ls::cross_entropy(in[0], expected.labels[0].integers(),
                             {.reduction = reduction_of(expected)});
  if (name.starts_with("mse_"))
    return ls::mse_loss(in[0], in[1], {.reduction = reduction_of(expected)});
  FAIL("no operation for " << expected.name);
  return {};
}

Inputs leaves(const golden::Case& expected, ls::DType dtype) {
  Inputs inputs;
  for (const golden::Values& values : expected.inputs) {
    inputs.push_back(values.tensor(dtype));
    inputs.back().set_requires_grad(true);
  }
  return inputs;
}

}  // namespace

TEST_CASE("operations and their gradients agree with PyTorch") {
  const std::vector<golden::Case> cases = golden::read(kOperations);
  REQUIRE(cases.size() > 60);
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64})
    for (const golden::Case& expected : cases) {
      INFO(expected.name << " " << name(dtype));
      const golden::Results& results = expected.results(dtype);
      const Inputs inputs = leaves(expected, dtype);
      const ls::Tensor output = call(expected, inputs);
      CHECK(output.dtype() == dtype);
      CHECK(golden::difference(output, results.outputs[0], golden::tolerance(dtype)) == "");

      output.backward(expected.upstream[0].tensor(dtype));
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        INFO("gradient of input " << i);
        CHECK(golden::difference(inputs[i].gradient(), results.gradients[i],
                                 golden::tolerance(dtype)) == "");
      }
    }
}

TEST_CASE("gradients that nobody wants are not needed for the others") {
  for (const golden::Case& expected : golden::read(kOperations)) {
    const std::size_t count = expected.inputs.size();
    for (std::size_t wanted = 0; count > 1 && wanted < count; ++wanted) {
      INFO(expected.name << ", only the gradient of input " << wanted);
      Inputs inputs = leaves(expected, ls::DType::float64);
      for (std::size_t i = 0; i < count; ++i) inputs[i].set_requires_grad(i == wanted);
      call(expected, inputs).backward(expected.upstream[0].tensor(ls::DType::float64));
      CHECK(golden::difference(inputs[wanted].gradient(), expected.float64.gradients[wanted],
                               golden::tolerance(ls::DType::float64)) == "");
      for (std::size_t i = 0; i < count; ++i) CHECK(inputs[i].has_gradient() == (i == wanted));
    }
  }
}
