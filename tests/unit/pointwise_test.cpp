// What is particular to elementwise functions, quotients and losses of pairs: corner cases, what is
// saved, what is refused, and the layers.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/nn/activation.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {

using Function = std::function<ls::Tensor(const ls::Tensor&)>;

const std::vector<std::pair<const char*, Function>> kFromInput = {
    {"abs", ls::abs},   {"clamp", [](const ls::Tensor& x) { return ls::clamp(x, -1, 1); }},
    {"gelu", ls::gelu}, {"gelu_tanh", ls::gelu_tanh},
    {"log", ls::log},   {"pow", [](const ls::Tensor& x) { return ls::pow(x, 2.5); }},
    {"silu", ls::silu}};
const std::vector<std::pair<const char*, Function>> kFromResult = {{"exp", ls::exp},
                                                                   {"relu", ls::relu},
                                                                   {"sigmoid", ls::sigmoid},
                                                                   {"sqrt", ls::sqrt},
                                                                   {"tanh", ls::tanh}};

ls::Tensor leaf(std::initializer_list<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return ls::tensor(values, {count}).set_requires_grad(true);
}

/// The gradient of sum(function(x)).
std::vector<double> gradient(const Function& function, std::initializer_list<double> values) {
  const ls::Tensor x = leaf(values);
  ls::sum(function(x)).backward();
  return x.gradient().to_vector<double>();
}

}  // namespace

TEST_CASE("a NaN stays a NaN in every function") {
  for (const auto& functions : {kFromInput, kFromResult})
    for (const auto& [name, function] : functions)
      for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64}) {
        INFO(name << " " << ls::name(dtype));
        CHECK(std::isnan(
            function(ls::full({3}, NAN, dtype)).to(ls::DType::float64).to_vector<double>()[2]));
      }
}

TEST_CASE("derivatives at corners are PyTorch's") {
  CHECK(gradient(ls::abs, {-2, -0.0, 0, 3}) == std::vector<double>{-1, 0, 0, 1});
  const Function clamp = [](const ls::Tensor& x) { return ls::clamp(x, -1, 2); };
  CHECK(gradient(clamp, {-1.1, -1, 0, 2, 2.1}) == std::vector<double>{0, 1, 1, 1, 0});
  CHECK(gradient(ls::sqrt, {0})[0] == INFINITY);
  const auto power = [](double exponent) {
    return [exponent](const ls::Tensor& x) { return ls::pow(x, exponent); };
  };
  CHECK(gradient(power(0), {0, -3, 2}) == std::vector<double>{0, 0, 0});
  CHECK(gradient(power(1), {0, -3}) == std::vector<double>{1, 1});
  CHECK(gradient(power(2), {0, -3}) == std::vector<double>{0, -6});
  CHECK(gradient(power(0.5), {0})[0] == INFINITY);
  CHECK(std::isnan(gradient(power(0.5), {-1})[0]));
  CHECK(gradient(ls::gelu, {0, INFINITY}) == std::vector<double>{0.5, 1});
  CHECK(gradient(ls::silu, {0, INFINITY, -INFINITY}) == std::vector<double>{0.5, 1, 0});
}

TEST_CASE("clamp may have one bound, and two that are equal") {
  const ls::Tensor x = ls::tensor({-5.0, 0.5, 7.0}, {3});
  CHECK(ls::clamp(x, 0, INFINITY).to_vector<double>() == std::vector<double>{0, 0.5, 7});
  CHECK(ls::clamp(x, -INFINITY, 0).to_vector<double>() == std::vector<double>{-5, 0, 0});
  CHECK(ls::clamp(x, 2, 2).to_vector<double>() == std::vector<double>{2, 2, 2});
}

TEST_CASE("division by a number is a division, which a product with 1 / 49 would not be") {
  for (int i = 1; i < 50; ++i) {
    const auto number = static_cast<float>(i);
    CHECK((ls::full({1}, i) / 49.0).item() == number / 49.0F);
    CHECK((static_cast<double>(i) / ls::full({1}, 49.0)).item() == number / 49.0F);
  }
}

TEST_CASE("writing over what a derivative is computed from is refused, naming the operation") {
  for (const auto& [name, function] : kFromInput) {
    INFO(name);
    ls::Tensor x = leaf({0.5, 2}) * 1.0;
    const ls::Tensor loss = ls::sum(function(x));
    x.fill(1);
    CHECK_THROWS_WITH(loss.backward(), Contains(name));
  }
  for (const auto& [name, function] : kFromResult) {
    INFO(name);
    ls::Tensor x = leaf({0.5, 2}) * 1.0;
    ls::Tensor y = function(x);
    const ls::Tensor loss = ls::sum(y);
    x.fill(1);
    CHECK_NOTHROW(loss.backward({.retain_graph = true}));
    y.fill(1);
    CHECK_THROWS_WITH(loss.backward(), Contains(name));
  }
  ls::Tensor divisor = leaf({0.5, 2}) * 1.0;
  const ls::Tensor quotient = leaf({1, 2}) / divisor;
  divisor.fill(1);
  CHECK_THROWS_WITH(quotient.backward(ls::full({2}, 1.0, ls::DType::float64)), Contains("div"));
  ls::Tensor target = ls::full({2}, 0.0, ls::DType::float64);
  const ls::Tensor loss = ls::huber_loss(leaf({1, 2}), target);
  target.fill(1);
  CHECK_THROWS_WITH(loss.backward(), Contains("huber_loss"));
}

TEST_CASE("what cannot be computed is refused, naming the operation") {
  const ls::Tensor integers = ls::zeros({2}, ls::DType::int64);
  for (const auto& functions : {kFromInput, kFromResult})
    for (const auto& [name, function] : functions) {
      CHECK_THROWS_AS(function(integers), ls::InvalidUsage);
      CHECK_THROWS_WITH(function(integers), Contains(name) && Contains("int64"));
      CHECK_THROWS_AS(function(ls::Tensor{}), ls::InvalidUsage);
    }
  const ls::Tensor x = ls::zeros({2});
  CHECK_THROWS_WITH(ls::clamp(x, 2, 1), Contains("clamp"));
  CHECK_THROWS_AS(ls::clamp(x, NAN, 1), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::huber_loss(x, x, {.delta = 0}), Contains("delta"));
  CHECK_THROWS_AS(ls::huber_loss(x, x, {.delta = NAN}), ls::InvalidUsage);
  CHECK_THROWS_WITH(integers / 2.0, Contains("div"));
  CHECK_THROWS_AS(x / ls::zeros({3}), ls::ShapeError);
  CHECK_THROWS_AS(x / ls::zeros({2}, ls::DType::float64), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::l1_loss(x, ls::zeros({1})), Contains("l1_loss"));
  CHECK_THROWS_AS(ls::bce_with_logits(x, ls::zeros({2, 1})), ls::ShapeError);
  CHECK_THROWS_AS(ls::bce_with_logits(x, integers), ls::InvalidUsage);
}

TEST_CASE("binary cross-entropy of far logits is exact, small losses included") {
  const ls::Tensor far = leaf({800, -800, 40});
  const ls::Tensor loss =
      ls::bce_with_logits(far, ls::tensor({0.0, 0.0, 1.0}, {3}), {.reduction = ls::Reduction::sum});
  loss.backward();
  CHECK(loss.item<double>() == 800 + std::exp(-40));
  CHECK(far.gradient().to_vector<double>()[0] == 1);
  const ls::Tensor small = leaf({-40});
  const ls::Tensor tiny = ls::bce_with_logits(small, ls::tensor({0.0}, {1}));
  tiny.backward();
  CHECK(tiny.item<double>() == Approx(std::exp(-40)).epsilon(1e-14));
  CHECK(small.gradient().to_vector<double>()[0] == Approx(std::exp(-40)).epsilon(1e-14));
}

TEST_CASE("losses of nothing are 0 as a sum and NaN as a mean") {
  const ls::Tensor none = ls::zeros({0});
  CHECK(ls::l1_loss(none, none, {.reduction = ls::Reduction::sum}).item() == 0);
  CHECK(std::isnan(ls::huber_loss(none, none).item()));
  CHECK(std::isnan(ls::bce_with_logits(none, none).item()));
}

TEST_CASE("activations as layers are their functions, and modules") {
  const ls::Tensor x = ls::tensor({-2.0, -0.3, 0.0, 1.5}, {4});
  const auto same = [](const ls::Tensor& a, const ls::Tensor& b) {
    return a.to_vector<double>() == b.to_vector<double>();
  };
  CHECK(same(ls::nn::ReLU{}(x), ls::relu(x)));
  CHECK(same(ls::nn::SiLU{}(x), ls::silu(x)));
  CHECK(same(ls::nn::Sigmoid{}(x), ls::sigmoid(x)));
  CHECK(same(ls::nn::Tanh{}(x), ls::tanh(x)));
  CHECK(same(ls::nn::GELU{}(x), ls::gelu(x)));
  const ls::nn::GELU tanh_form{ls::nn::GeluForm::tanh};
  CHECK(same(tanh_form.clone()(x), ls::gelu_tanh(x)));
  CHECK(!same(ls::gelu(x), ls::gelu_tanh(x)));
  static_assert(ls::Module<ls::nn::GELU> && ls::Module<ls::nn::Tanh>);
}
