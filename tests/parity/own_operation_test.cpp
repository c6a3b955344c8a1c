// A program's own operation on CUDA: the same numbers as on the CPU, forward and backward.
#include <stdexcept>
#include <utility>
#include <vector>

#include "parity/functions.hpp"

using namespace parity;

namespace {

/// x y^2, which saves y^2.
auto times_square() {
  return ls::operation(
      [](const ls::Tensor& x, const ls::Tensor& y) {
        const ls::Tensor square = y * y;
        return std::pair{x * square, std::vector{square}};
      },
      [](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor& x, const ls::Tensor& y,
         const std::vector<ls::Tensor>& saved) {
        return std::pair{g * saved[0], 2.0 * (g * x * y)};
      },
      "times_square");
}

}  // namespace

TEMPLATE_TEST_CASE("an own operation has the same bits on CUDA, backward too", "", float, double) {
  if (no_device()) return;
  const auto operation = times_square();
  const auto twice = [&](const Tensors& x) {
    return operation(operation(x[0], x[1]), x[1] + x[0]);
  };
  for (const bool odd : {false, true})
    for (const ls::Shape& shape : std::vector<ls::Shape>{{}, {0}, {1}, {257}, {3, 5, 7}}) {
      INFO(to_string(shape) << ", odd " << odd);
      CHECK(same(on_devices<TestType>(twice, {shape, shape}, odd)));
    }
  const auto values = awkward_values<TestType>(1025, 5);
  const ls::Tensor awkward = ls::tensor(values, {1025});
  CHECK(same(on_devices<TestType>(twice, Tensors{awkward, awkward}, false)));
}

TEST_CASE("what an own backward brings from another device is refused, and the tape goes on") {
  if (no_device()) return;
  ls::Device device = ls::Device::cpu();
  const auto scaled = ls::operation([](const ls::Tensor& x) { return x * 2.0; },
                                    [&](const ls::Tensor& g, const ls::Tensor&, const ls::Tensor&) {
                                      return (g * 2.0).to(device);
                                    },
                                    "scaled");
  ls::Tensor x = ls::full({3}, 1.0, ls::DType::float32, kCuda).set_requires_grad(true);
  const ls::Tensor loss = ls::sum(scaled(x));
  CHECK_THROWS_WITH(loss.backward({.retain_graph = true}),
                    Catch::Matchers::Contains("scaled") && Catch::Matchers::Contains("cuda:0"));
  CHECK_FALSE(x.has_gradient());
  device = kCuda;
  loss.backward();
  CHECK(x.gradient().to_vector() == std::vector<float>{2, 2, 2});
}
