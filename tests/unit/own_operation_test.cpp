// Operations of the program's own: gradients, what is saved, and what is refused.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/operation.hpp>
#include <lockstep/core/parameter.hpp>

#include "unit/gradient_check.hpp"

namespace ls = lockstep;
using Catch::Matchers::Contains;
using Doubles = std::vector<double>;

namespace {

ls::Tensor leaf(std::initializer_list<double> values) {
  return ls::tensor(values, {static_cast<std::int64_t>(values.size())}).set_requires_grad(true);
}

Doubles gradient(const ls::Tensor& x) { return x.gradient().to_vector<double>(); }

/// function(x) for each element, whatever the dtype.
template <class Function>
ls::Tensor map(const ls::Tensor& x, Function function) {
  Doubles values = x.to(ls::DType::float64).to_vector<double>();
  for (double& value : values) value = function(value);
  return ls::tensor(values, x.shape()).to(x.dtype());
}

/// exp(x), whose backward needs the result alone.
auto exponential() {
  return ls::operation(
      [](const ls::Tensor& x) { return map(x, [](double value) { return std::exp(value); }); },
      [](const ls::Tensor& g, const ls::Tensor& y, const ls::Tensor&) { return g * y; }, "exp");
}

/// a b c, as a tuple of three gradients.
auto triple_product() {
  return ls::operation(
      [](const ls::Tensor& a, const ls::Tensor& b, const ls::Tensor& c) { return a * b * c; },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor& a, const ls::Tensor& b,
         const ls::Tensor& c) {
        return std::tuple{g * b * c, g * a * c, g * a * b};
      },
      "triple_product");
}

/// x times the tanh of y, which forward saves.
auto gated() {
  return ls::operation(
      [](const ls::Tensor& x, const ls::Tensor& y) {
        const ls::Tensor gate = map(y, [](double value) { return std::tanh(value); });
        return std::pair{x * gate, std::vector{gate}};
      },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor& x, const ls::Tensor&,
         const std::vector<ls::Tensor>& saved) {
        const ls::Tensor& gate = saved[0];
        return std::array{g * gate, g * x * (1.0 - gate * gate)};
      },
      "gated");
}

/// x, with a backward that returns this.
template <class Gradients>
auto returning(Gradients gradients) {
  return ls::operation(
      [](const ls::Tensor& x) { return x; },
      [gradients](const ls::Tensor&, const ls::Tensor&, const ls::Tensor&) { return gradients; },
      "returning");
}

}  // namespace

TEST_CASE("gradients of own operations are those of central differences") {
  using gradient_check::kTolerance;
  using gradient_check::largest_error;
  using gradient_check::random_leaves;
  using gradient_check::Tensors;
  const auto one = exponential();
  const auto two = gated();
  const auto three = triple_product();
  for (const ls::Shape& shape : {ls::Shape{}, {0}, {1}, {7}, {2, 3}}) {
    INFO(to_string(shape));
    CHECK(largest_error([&](const Tensors& x) { return one(x[0]); }, random_leaves({shape})) <
          kTolerance);
    CHECK(largest_error([&](const Tensors& x) { return two(x[0], x[1]); },
                        random_leaves({shape, shape})) < kTolerance);
    CHECK(largest_error([&](const Tensors& x) { return three(x[0], x[1], x[2]); },
                        random_leaves({shape, shape, shape})) < kTolerance);
    // Among each other, and among the library's own; one value used twice.
    CHECK(largest_error(
              [&](const Tensors& x) { return three(x[0] * 2.0, two(x[1], x[0]), one(x[0])); },
              random_leaves({shape, shape})) < kTolerance);
  }
}

TEST_CASE("an own operation works in float32, and a NaN passes") {
  ls::Tensor x = ls::tensor({0.0F, std::numeric_limits<float>::quiet_NaN()}, {2});
  x.set_requires_grad(true);
  const ls::Tensor y = exponential()(x);
  CHECK(y.dtype() == ls::DType::float32);
  ls::sum(y).backward();
  CHECK(x.gradient().to_vector()[0] == 1);
  CHECK(std::isnan(x.gradient().to_vector()[1]));
}

TEST_CASE("the two functions run without the tape, and nothing is recorded that nobody wants") {
  const auto watched = ls::operation(
      [](const ls::Tensor& x) {
        CHECK_FALSE(ls::grad_enabled());
        return x * 2.0;
      },
      [](const ls::Tensor& g, const ls::Tensor& y, const ls::Tensor& x) {
        CHECK_FALSE(ls::grad_enabled());
        CHECK_FALSE(g.requires_grad());
        CHECK_FALSE(y.requires_grad());
        CHECK_FALSE(x.requires_grad());
        return g * 2.0;
      });
  const ls::Tensor x = leaf({1, 2});
  const ls::Tensor y = watched(x);
  CHECK(ls::grad_enabled());
  CHECK(y.requires_grad());
  y.backward(ls::tensor({1.0, 10.0}, {2}));
  CHECK(gradient(x) == Doubles{2, 20});
  CHECK_FALSE(watched(x.detach()).requires_grad());
  const ls::NoGrad no_grad;
  CHECK_FALSE(watched(x).requires_grad());
}

TEST_CASE("inputs that want no gradient may get none, and may be of any dtype or undefined") {
  const auto pick = ls::operation(
      [](const ls::Tensor& x, const ls::Tensor& index, const ls::Tensor& offset) {
        const ls::Tensor picked = ls::tensor({x.data<double>()[index.item<std::int64_t>()]}, {1});
        return offset.defined() ? picked + offset : picked;
      },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor& x, const ls::Tensor& index,
         const ls::Tensor& offset) {
        ls::Tensor dx = ls::zeros(x.shape(), x.dtype());
        dx.mutable_data<double>()[index.item<std::int64_t>()] = g.item<double>();
        return std::vector<ls::Tensor>{dx, {}, offset.defined() ? g : ls::Tensor{}};
      });
  const ls::Tensor index = ls::tensor<std::int64_t>({1}, {});
  const ls::Tensor x = leaf({1, 2, 3});
  pick(x, index, ls::Tensor{}).backward();
  CHECK(gradient(x) == Doubles{0, 1, 0});
  const ls::Tensor offset = leaf({5});
  const ls::Tensor y = pick(x.detach(), index, offset);
  CHECK(y.item<double>() == 7);
  y.backward();
  CHECK(gradient(offset) == Doubles{1});
  CHECK(gradient(x) == Doubles{0, 1, 0});
}

TEST_CASE("a parameter that was frozen since gets nothing") {
  ls::Parameter weight{ls::full({2}, 3.0, ls::DType::float64)};
  const ls::Tensor x = leaf({1, 2});
  const ls::Tensor loss = ls::sum(triple_product()(x, weight, x));
  weight.freeze();
  loss.backward();
  CHECK_FALSE(weight.has_gradient());
  CHECK(gradient(x) == Doubles{6, 12});
}

TEST_CASE("a forward may return its input, whose own gradient stays apart") {
  const auto doubled = ls::operation(
      [](const ls::Tensor& x) { return x; },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) { return g * 2.0; });
  const ls::Tensor x = leaf({1, 2});
  const ls::Tensor y = doubled(x);
  CHECK(y.raw_data() == x.raw_data());
  ls::sum(y + x).backward();
  CHECK(gradient(x) == Doubles{3, 3});
}

TEST_CASE("a gradient that the program keeps, or returns twice, is not written to") {
  const ls::Tensor kept = ls::tensor({1.0, 2.0}, {2});
  const auto constant = ls::operation(
      [](const ls::Tensor& a, const ls::Tensor& b) { return a + b; },
      [kept](const ls::Tensor&, const ls::Tensor&, const ls::Tensor&, const ls::Tensor&) {
        return std::pair{kept, kept};
      });
  const ls::Tensor a = leaf({0, 0});
  const ls::Tensor b = leaf({0, 0});
  ls::sum(constant(a, b) + constant(a * 1.0, b)).backward();
  CHECK(gradient(a) == Doubles{2, 4});
  CHECK(gradient(b) == Doubles{2, 4});
  CHECK(kept.to_vector<double>() == Doubles{1, 2});
}

TEST_CASE("a leaf that a backward returns is taken as a value") {
  const ls::Tensor weight = leaf({5, 7});
  const auto watched = ls::operation([](const ls::Tensor& x) { return x; },
                                     [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) {
                                       CHECK_FALSE(g.requires_grad());
                                       return g;
                                     });
  const auto weighing = ls::operation(
      [](const ls::Tensor& x) { return x; },
      [&](const ls::Tensor&, const ls::Tensor&, const ls::Tensor&) { return weight; });
  const ls::Tensor x = leaf({1, 2});
  ls::sum(weighing(watched(x))).backward();
  CHECK(gradient(x) == Doubles{5, 7});
  CHECK_FALSE(weight.has_gradient());
}

TEST_CASE("what backward is given counts as saved") {
  ls::Tensor a = ls::tensor({1.0, 2.0}, {2});
  const ls::Tensor b = leaf({3, 4});
  ls::Tensor kept;
  const auto keeping = ls::operation(
      [&](const ls::Tensor& x, const ls::Tensor& y) {
        kept = x + y;
        return std::pair{x * y, std::vector{kept}};
      },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor& x, const ls::Tensor& y,
         const std::vector<ls::Tensor>&) {
        return std::pair{g * y, g * x};
      },
      "keeping");
  ls::Tensor y = keeping(a, b);
  const ls::Tensor loss = ls::sum(y);
  SECTION("an input") { a.fill(0); }
  SECTION("the result") { y.fill(0); }
  SECTION("what forward saved") { kept.fill(0); }
  CHECK_THROWS_AS(loss.backward(), ls::InvalidUsage);
  CHECK_THROWS_WITH(loss.backward(), Contains("keeping") && Contains("written to"));
  CHECK_FALSE(b.has_gradient());
}

TEST_CASE("a forward that writes over its input is found out") {
  const auto careless = ls::operation(
      [](const ls::Tensor& x) {
        ls::Tensor same = x;
        same.fill(0);
        return x + 1.0;
      },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) { return g; }, "careless");
  const ls::Tensor x = leaf({1, 2});
  CHECK_THROWS_WITH(careless(x).backward(ls::zeros({2}, ls::DType::float64)), Contains("careless"));
}

TEST_CASE("a second backward is refused unless the graph is retained") {
  ls::Tensor x = leaf({1, 2});
  const ls::Tensor y = leaf({3, 4});
  const ls::Tensor once = ls::sum(gated()(x, y));
  once.backward();
  CHECK_THROWS_WITH(once.backward(), Contains("used up"));
  const ls::Tensor first = x.gradient().clone();
  x.zero_gradient();
  const ls::Tensor twice = ls::sum(gated()(x, y));
  twice.backward({.retain_graph = true});
  twice.backward();
  CHECK(gradient(x) == (first * 2.0).to_vector<double>());
}

TEST_CASE("what is saved, and the functions, live until backward has used them") {
  auto owner = std::make_shared<int>(2);
  const std::weak_ptr<int> watch = owner;
  const ls::Tensor x = leaf({1, 2});
  ls::Tensor y;
  {
    const auto scaled = ls::operation(
        [owner](const ls::Tensor& value) { return value * static_cast<double>(*owner); },
        [owner](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) {
          return g * static_cast<double>(*owner);
        });
    owner.reset();
    y = scaled(x);
  }
  REQUIRE_FALSE(watch.expired());
  ls::sum(y).backward();
  CHECK(gradient(x) == Doubles{2, 2});
  CHECK(watch.expired());
}

TEST_CASE("gradients that do not fit are refused, and nothing is given") {
  const ls::Tensor x = leaf({1, 2});
  const auto refused = [&](const auto& operation) {
    const ls::Tensor loss = ls::sum(operation(x));
    CHECK_THROWS_WITH(loss.backward(), Contains("returning"));
    CHECK_FALSE(x.has_gradient());
  };
  refused(returning(std::vector<ls::Tensor>{}));
  refused(returning(std::vector<ls::Tensor>(2, ls::zeros({2}, ls::DType::float64))));
  refused(returning(ls::zeros({3}, ls::DType::float64)));
  refused(returning(ls::zeros({2}, ls::DType::float32)));
  CHECK_THROWS_AS(ls::sum(returning(ls::zeros({2, 1}, ls::DType::float64))(x)).backward(),
                  ls::ShapeError);
  CHECK_THROWS_AS(ls::sum(returning(ls::zeros({2}))(x)).backward(), ls::InvalidUsage);
  const auto nothing = ls::operation(
      [](const ls::Tensor&) { return ls::Tensor{}; },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) { return g; }, "nothing");
  CHECK_THROWS_WITH(nothing(x), Contains("nothing") && Contains("undefined"));
}

TEST_CASE("a result without a gradient, such as an index, is not recorded") {
  const auto largest =
      ls::operation([](const ls::Tensor& x) { return ls::argmax(x); },
                    [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) { return g; });
  const ls::Tensor index = largest(leaf({1, 7, 2}));
  CHECK_FALSE(index.requires_grad());
  CHECK(index.item<std::int64_t>() == 1);
}

TEST_CASE("exceptions of the program come through, and the tape goes on afterwards") {
  struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  bool fails = true;
  const auto unsteady = ls::operation(
      [&](const ls::Tensor& x) {
        if (fails) throw Failure("forward");
        return x * 3.0;
      },
      [&](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) {
        if (fails) throw Failure("backward");
        return g * 3.0;
      });
  ls::Tensor x = leaf({1, 2});
  CHECK_THROWS_AS(unsteady(x), Failure);
  CHECK(ls::grad_enabled());

  fails = false;
  const ls::Tensor loss = ls::sum(unsteady(x) + x * x);
  fails = true;
  CHECK_THROWS_AS(loss.backward({.retain_graph = true}), Failure);
  CHECK(ls::grad_enabled());
  fails = false;
  x.zero_gradient();
  loss.backward();
  CHECK(gradient(x) == Doubles{5, 7});
  x.zero_gradient();
  ls::sum(unsteady(x)).backward();
  CHECK(gradient(x) == Doubles{3, 3});
}
