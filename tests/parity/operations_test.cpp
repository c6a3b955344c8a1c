// Operations forward and backward through the public interface.
#include <cmath>
#include <string>

#include "parity/functions.hpp"

using namespace parity;

namespace {

const std::vector<ls::Shape> kShapes = {{}, {0}, {1}, {7}, {257}, {1025}, {3, 0, 2}, {3, 5, 7}};

struct Pair {
  ls::Shape a;
  ls::Shape b;
};
/// Every form of a broadcast: none, scalars, either side, both sides, missing axes, nothing.
const std::vector<Pair> kPairs = {{{}, {}},
                                  {{7}, {7}},
                                  {{1025}, {}},
                                  {{}, {257}},
                                  {{4, 5}, {5}},
                                  {{5}, {4, 5}},
                                  {{4, 5}, {4, 1}},
                                  {{4, 1}, {1, 5}},
                                  {{1, 8}, {33, 8}},
                                  {{2, 1, 3}, {4, 1}},
                                  {{3, 4, 5}, {3, 1, 5}},
                                  {{0}, {1}},
                                  {{2, 0, 3}, {3}},
                                  {{2, 3, 1, 4}, {3, 5, 1}},
                                  {{1, 1}, {1}}};

}  // namespace

TEMPLATE_TEST_CASE("add, sub and mul agree on CUDA in every form of a broadcast", "", float,
                   double) {
  if (no_device()) return;
  for (const auto& [a, b] : kPairs) {
    INFO(to_string(a) << " and " << to_string(b));
    check_near<TestType>([](const Tensors& x) { return x[0] + x[1]; }, {a, b}, kSum<TestType>);
    check_near<TestType>([](const Tensors& x) { return x[0] - x[1]; }, {a, b}, kSum<TestType>);
    check_near<TestType>([](const Tensors& x) { return x[0] * x[1]; }, {a, b}, kSum<TestType>);
  }
}

TEMPLATE_TEST_CASE("operations without a sum have the same bits on CUDA, backward too", "", float,
                   double) {
  if (no_device()) return;
  for (const ls::Shape& shape : kShapes) {
    INFO(to_string(shape));
    check_same<TestType>([](const Tensors& x) { return x[0] * x[1] - x[0] + x[1]; },
                         {shape, shape});
    check_same<TestType>([](const Tensors& x) { return 2.5 - (x[0] * 0.3 + 1.7) - 0.1; }, {shape});
    check_same<TestType>([](const Tensors& x) { return -(3.0 * x[0]); }, {shape});
    check_same<TestType>([](const Tensors& x) { return ls::relu(x[0]); }, {shape});
    check_same<TestType>([](const Tensors& x) { return ls::gelu_tanh(x[0]); }, {shape});
    check_same<TestType>([](const Tensors& x) { return x[0].clone() * x[0]; }, {shape});
  }
}

TEMPLATE_TEST_CASE("a reshape keeps order and gradients on CUDA", "", float, double) {
  if (no_device()) return;
  check_same<TestType>(
      [](const Tensors& x) {
        return ls::reshape(x[0], {5, -1}) * x[1];
      },
      {{3, 5, 7}, {5, 21}});
  check_same<TestType>([](const Tensors& x) { return ls::reshape(x[0], {0, 4}); }, {{2, 0}});
}

TEMPLATE_TEST_CASE("relu and gelu let NaN and infinities pass on CUDA as on the CPU", "", float,
                   double) {
  if (no_device()) return;
  const auto values = awkward_values<TestType>(1025, 5);
  const Tensors at = {ls::tensor(values, {1025})};
  for (const bool odd : {false, true}) {
    const auto rectified =
        on_devices<TestType>([](const Tensors& x) { return ls::relu(x[0]); }, at, odd);
    CHECK(same(rectified));
    bool passes = true;
    for (std::size_t i = 0; i < values.size(); ++i)
      passes = passes && std::isnan(values[i]) == std::isnan(rectified.second[0][i]);
    CHECK(passes);
    CHECK(
        same(on_devices<TestType>([](const Tensors& x) { return ls::gelu_tanh(x[0]); }, at, odd)));
  }
}

TEMPLATE_TEST_CASE("sum and mean agree on CUDA, of nothing too", "", float, double) {
  if (no_device()) return;
  for (const ls::Shape& shape : kShapes) {
    INFO(to_string(shape));
    check_near<TestType>([](const Tensors& x) { return ls::sum(x[0]); }, {shape}, kSum<TestType>);
    check_near<TestType>([](const Tensors& x) { return ls::mean(x[0]); }, {shape}, kSum<TestType>);
  }
  check_near<TestType>([](const Tensors& x) { return ls::mean(x[0]); }, {{70001}}, kSum<TestType>);
}

TEMPLATE_TEST_CASE("mse_loss agrees on CUDA, of nothing too", "", float, double) {
  if (no_device()) return;
  for (const ls::Shape& shape : kShapes)
    for (const auto reduction : {ls::Reduction::mean, ls::Reduction::sum}) {
      INFO(to_string(shape));
      check_near<TestType>(
          [&](const Tensors& x) { return ls::mse_loss(x[0], x[1], {.reduction = reduction}); },
          {shape, shape}, kSum<TestType>);
    }
}

TEMPLATE_TEST_CASE("matmul and linear agree on CUDA, with gradients that are used twice", "", float,
                   double) {
  if (no_device()) return;
  const std::vector<std::vector<std::int64_t>> sizes = {
      {1, 1, 1}, {5, 7, 3}, {0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {31, 257, 9}, {16, 64, 32}};
  for (const auto& size : sizes) {
    const std::int64_t m = size[0], k = size[1], n = size[2];
    INFO(m << " x " << k << " x " << n);
    const double tolerance = kProduct<TestType>;
    check_near<TestType>([](const Tensors& x) { return ls::matmul(x[0], x[1]); }, {{m, k}, {k, n}},
                         tolerance);
    check_near<TestType>([](const Tensors& x) { return ls::linear(x[0], x[1]); }, {{m, k}, {n, k}},
                         tolerance);
    check_near<TestType>([](const Tensors& x) { return ls::linear(x[0], x[1], x[2]); },
                         {{m, k}, {n, k}, {n}}, tolerance);
    check_near<TestType>([](const Tensors& x) { return ls::linear(x[0], x[1], x[2]); },
                         {{2, m, k}, {n, k}, {n}}, tolerance);
    check_near<TestType>(
        [](const Tensors& x) {
          return ls::linear(x[0], x[1], x[2]) + ls::linear(x[0] * 0.5, x[1], x[2]);
        },
        {{m, k}, {n, k}, {n}}, tolerance);
  }
}

TEMPLATE_TEST_CASE("argmax is the same on CUDA", "", float, double) {
  if (no_device()) return;
  for (const ls::Shape& shape : std::vector<ls::Shape>{{1}, {7}, {0, 3}, {5, 257}, {3, 4, 5}}) {
    const ls::Tensor x = random_tensor(shape, ls::dtype_of<TestType>, 7);
    const ls::Tensor found = ls::argmax(x.to(kCuda));
    CHECK(found.shape() == ls::argmax(x).shape());
    CHECK(same(ls::argmax(x).to_vector<std::int64_t>(), found.to_vector<std::int64_t>()));
  }
}
