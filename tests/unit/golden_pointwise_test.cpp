// Elementwise functions, quotients and losses of pairs, forward and backward, against PyTorch's
// results in float32 and float64.
#include <functional>
#include <string_view>

#include "golden/check.hpp"

namespace ls = lockstep;

namespace {

constexpr const char* kPointwise =
#include "golden/pointwise.inc"
    ;

const std::map<std::string, std::function<ls::Tensor(const ls::Tensor&)>> kFunctions = {
    {"abs", ls::abs},   {"clamp", [](const ls::Tensor& x) { return ls::clamp(x, -1.5, 2); }},
    {"exp", ls::exp},   {"gelu", ls::gelu},
    {"log", ls::log},   {"sigmoid", ls::sigmoid},
    {"silu", ls::silu}, {"sqrt", ls::sqrt},
    {"tanh", ls::tanh}};

double option(const golden::Case& expected, const char* name) {
  return std::stod(expected.options.at(name));
}

/// Calls the operation that the name of the case starts with.
ls::Tensor call(const golden::Case& expected, const golden::Tensors& in) {
  const std::string kind = expected.name.substr(0, expected.name.find('_'));
  if (kFunctions.count(kind) != 0) return kFunctions.at(kind)(in[0]);
  if (kind == "pow") return ls::pow(in[0], option(expected, "exponent"));
  if (expected.name == "div_by_number") return in[0] / 0.7;
  if (expected.name == "div_of_number") return 0.7 / in[0];
  if (kind == "div") return in[0] / in[1];
  const ls::Reduction reduction = golden::reduction_of(expected);
  if (kind == "bce")
    return ls::bce_with_logits(
        in[0], in[1], {.reduction = reduction, .positive_weight = option(expected, "weight")});
  if (kind == "huber")
    return ls::huber_loss(in[0], in[1],
                          {.reduction = reduction, .delta = option(expected, "delta")});
  if (kind == "l1") return ls::l1_loss(in[0], in[1], {.reduction = reduction});
  FAIL("no operation for " << expected.name);
  return {};
}

}  // namespace

TEST_CASE("pointwise operations and their gradients agree with PyTorch") {
  const std::vector<golden::Case> cases = golden::read(kPointwise);
  REQUIRE(cases.size() > 60);
  golden::check_operations(cases, call);
}

TEST_CASE("gradients of quotients and losses do not need each other") {
  golden::check_single_gradients(golden::read(kPointwise), call);
}
