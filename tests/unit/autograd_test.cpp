// The tape: accumulation, what ends a graph, what is refused, and graphs of any depth.
#include <pthread.h>

#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/core/no_grad.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/core/parameter.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/optim/sgd.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {

ls::Tensor leaf(double value) {
  return ls::full({}, value, ls::DType::float64).set_requires_grad(true);
}
double gradient_of(const ls::Tensor& x) { return x.gradient().item<double>(); }

/// Runs the function on a thread with 1 MiB of stack: ten bytes for each of 100,000 frames.
void on_small_stack(const std::function<void()>& function) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, std::size_t{1} << 20) == 0);
  pthread_t thread{};
  const auto start = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  void* argument = const_cast<std::function<void()>*>(&function);
  REQUIRE(pthread_create(&thread, &attributes, start, argument) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("the gradient of an input is the derivative of the result") {
  const ls::Tensor x = leaf(3);
  const ls::Tensor y = x * x + 2.0 * x;
  CHECK(y.requires_grad());
  y.backward();
  CHECK(gradient_of(x) == 8);
}

TEST_CASE("a value that is used several times collects all contributions") {
  const ls::Tensor x = leaf(2);
  const ls::Tensor shared = x * x;
  (shared * shared + shared + x).backward();
  CHECK(gradient_of(x) == 4 * 8 + 4 + 1);
}

TEST_CASE("two backwards accumulate until the gradient is zeroed") {
  ls::Tensor x = leaf(3);
  (x * x).backward();
  (x * 5.0).backward();
  CHECK(gradient_of(x) == 11);
  x.zero_gradient();
  CHECK_FALSE(x.has_gradient());
  (x * 5.0).backward();
  CHECK(gradient_of(x) == 5);
}

TEST_CASE("a gradient that the program keeps does not change under it") {
  ls::Tensor x = leaf(3);
  (x * 2.0).backward();
  const ls::Tensor kept = x.gradient().clone();
  (x * 2.0).backward();
  CHECK(kept.item<double>() == 2);
  CHECK(gradient_of(x) == 4);
}

TEST_CASE("a second backward through the same graph needs retain_graph") {
  const ls::Tensor x = leaf(3);
  const ls::Tensor y = x * x;
  y.backward();
  CHECK_THROWS_AS(y.backward(), ls::InvalidUsage);
  CHECK_THROWS_WITH(y.backward(), Contains("retain_graph"));
  CHECK(gradient_of(x) == 6);

  const ls::Tensor z = x * x;
  z.backward({.retain_graph = true});
  z.backward();
  CHECK(gradient_of(x) == 18);
}

TEST_CASE("a second loss over a used-up part of the graph is refused") {
  const ls::Tensor x = leaf(3);
  const ls::Tensor trunk = x * x;
  const ls::Tensor first = trunk * 2.0;
  const ls::Tensor second = trunk * 3.0;
  first.backward();
  CHECK_THROWS_AS(second.backward(), ls::InvalidUsage);

  const ls::Tensor other = x * x;
  const ls::Tensor third = other * 2.0;
  const ls::Tensor fourth = other * 3.0;
  ls::Tensor fresh = x;
  fresh.zero_gradient();
  third.backward({.retain_graph = true});
  fourth.backward();
  CHECK(gradient_of(x) == 5 * 6);
}

TEST_CASE("backward starts from one element, or from a gradient of the result's shape") {
  const ls::Tensor x = ls::tensor({1.0, 2.0, 3.0}, {3}).set_requires_grad(true);
  CHECK_THROWS_AS((x * x).backward(), ls::ShapeError);
  CHECK_THROWS_AS((x * x).backward(ls::zeros({2}, ls::DType::float64)), ls::ShapeError);
  (x * x).backward(ls::tensor({1.0, 0.0, -1.0}, {3}));
  CHECK(x.gradient().to_vector<double>() == std::vector<double>{2, 0, -6});
  CHECK_NOTHROW(ls::reshape(ls::sum(x), {1, 1}).backward());
}

TEST_CASE("backward from something that needs no gradient is refused") {
  const ls::Tensor x = ls::full({}, 1.0);
  CHECK_FALSE((x * x).requires_grad());
  CHECK_THROWS_AS((x * x).backward(), ls::InvalidUsage);
  CHECK_THROWS_AS(x.gradient(), ls::InvalidUsage);
}

TEST_CASE("only leaves of floating-point type may be switched") {
  ls::Tensor x = leaf(1);
  ls::Tensor y = x * x;
  CHECK_THROWS_AS(y.set_requires_grad(false), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::zeros({2}, ls::DType::int64).set_requires_grad(true), ls::InvalidUsage);
  x.set_requires_grad(false);
  CHECK_FALSE((x * x).requires_grad());
}

TEST_CASE("detach leaves the tape, clone stays on it") {
  const ls::Tensor x = leaf(3);
  CHECK_FALSE((x * x).detach().requires_grad());
  (x.clone() * x).backward();
  CHECK(gradient_of(x) == 6);
  ls::Tensor(x).zero_gradient();
  CHECK((x * x).detach().item<double>() == 9);
  (x * x.detach()).backward();
  CHECK(gradient_of(x) == 3);
}

TEST_CASE("NoGrad switches the tape off for its thread and scope") {
  const ls::Tensor x = leaf(3);
  {
    const ls::NoGrad outer;
    { const ls::NoGrad inner; }
    CHECK_FALSE(ls::grad_enabled());
    CHECK_FALSE((x * x).requires_grad());
    bool recorded_elsewhere = false;
    std::thread([&] { recorded_elsewhere = (x * x).requires_grad(); }).join();
    CHECK(recorded_elsewhere);
  }
  CHECK(ls::grad_enabled());
  CHECK((x * x).requires_grad());
}

TEST_CASE("a graph that is made within NoGrad ends there") {
  const ls::Tensor x = leaf(3);
  ls::Tensor constant;
  {
    const ls::NoGrad no_grad;
    constant = x * x;
  }
  (constant * x).backward();
  CHECK(gradient_of(x) == 9);
}

TEST_CASE("a tied parameter collects the gradients of all its uses") {
  ls::Parameter weight{ls::full({}, 3.0, ls::DType::float64)};
  const ls::Parameter tied = weight.share();
  CHECK(tied.same(weight));
  (weight.value() * (tied.value() * 2.0)).backward();
  CHECK(weight.gradient().item<double>() == 12);
  CHECK(tied.gradient().item<double>() == 12);
}

TEST_CASE("a frozen parameter gets no gradient and stops the tape") {
  ls::Parameter frozen{ls::full({}, 3.0)};
  const ls::Parameter trained{ls::full({}, 2.0)};
  frozen.freeze();
  CHECK_FALSE((frozen.value() * 2.0).requires_grad());
  (frozen.value() * trained.value()).backward();
  CHECK_FALSE(frozen.has_gradient());
  CHECK(trained.gradient().item() == 3);
  frozen.unfreeze();
  (frozen.value() * trained.value()).backward();
  CHECK(frozen.gradient().item() == 2);
}

TEST_CASE("a chain of 100,000 operations overflows no stack") {
  constexpr int kLength = 100000;
  const ls::Tensor x = leaf(1);
  const auto chain = [&] {
    ls::Tensor y = x;
    for (int i = 0; i < kLength; ++i) y = y + 1.0;
    return y;
  };
  SECTION("in backward") {
    on_small_stack([&] { chain().backward(); });
    CHECK(gradient_of(x) == 1);
  }
  SECTION("when the graph is dropped without backward") {
    on_small_stack([&] { chain(); });
    CHECK_FALSE(x.has_gradient());
  }
  SECTION("when it is kept over backward") {
    on_small_stack([&] {
      const ls::Tensor y = chain();
      y.backward({.retain_graph = true});
      y.backward();
    });
    CHECK(gradient_of(x) == 2);
  }
}

TEST_CASE("a long chain that branches in each step takes linear time") {
  const ls::Tensor x = leaf(0);
  ls::Tensor y = x;
  for (int i = 0; i < 5000; ++i) y = (y + y) * 0.5;
  y.backward();
  CHECK(gradient_of(x) == 1);
}

TEST_CASE("two threads may run backward over graphs of their own") {
  const auto work = [](double& result) {
    for (int i = 0; i < 200; ++i) {
      const ls::Tensor x = leaf(3);
      (x * x * x).backward();
      result += gradient_of(x);
    }
  };
  double first = 0;
  double second = 0;
  std::thread other(work, std::ref(first));
  work(second);
  other.join();
  CHECK(first == 200 * 27);
  CHECK(second == 200 * 27);
}

TEST_CASE("a leaf whose only owner is the tape survives the release of the tape") {
  const auto loss = [] {
    ls::Tensor x = ls::tensor({1.0F, 2.0F}, {2});
    x.set_requires_grad(true);
    return ls::sum(x * 2.0);
  };
  loss().backward();
  CHECK(true);  // the address sanitizer sees the rest
}

TEST_CASE("the gradient given to backward may be memory that this backward writes to") {
  ls::nn::Linear layer{2, 2};
  const auto parameters = ls::parameters(layer);
  const ls::optim::Sgd pack{parameters};
  layer(ls::full({1, 2}, 1)).backward(ls::tensor({1.0F, 2.0F}, {1, 2}));
  layer.weight().value().zero_gradient();
  const ls::Tensor seed = ls::reshape(layer.bias().gradient(), {1, 2});
  layer(ls::full({1, 2}, 1)).backward(seed);
  CHECK(layer.weight().gradient().to_vector() == std::vector<float>{1, 1, 2, 2});
}

TEST_CASE("a parameter that is frozen between forward and backward gets no gradient") {
  ls::Parameter w{ls::full({}, 2.0)};
  const ls::Tensor x = leaf(3);
  const ls::Tensor loss = w.value() * x.to(ls::DType::float32);
  w.freeze();
  loss.backward();
  CHECK_FALSE(w.has_gradient());
  CHECK(gradient_of(x) == 2);
}
