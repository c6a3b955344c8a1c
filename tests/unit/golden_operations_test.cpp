// Every operation, forward and backward, against PyTorch's results in float32 and float64.
#include <string_view>

#include <lockstep/core/operations.hpp>

#include "golden/check.hpp"

namespace ls = lockstep;

namespace {

constexpr const char* kOperations =
#include "golden/operations.inc"
    ;

using golden::reduction_of;

/// Calls the operation that the name of the case starts with.
ls::Tensor call(const golden::Case& expected, const golden::Tensors& in) {
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

}  // namespace

TEST_CASE("operations and their gradients agree with PyTorch") {
  const std::vector<golden::Case> cases = golden::read(kOperations);
  REQUIRE(cases.size() > 60);
  golden::check_operations(cases, call);
}

TEST_CASE("gradients that nobody wants are not needed for the others") {
  golden::check_single_gradients(golden::read(kOperations), call);
}
