// Operations on rows on both backends.
#include <string>

#include "parity/functions.hpp"

using namespace parity;

namespace {

ls::Tensor some_indices(std::int64_t count, std::int64_t rows) {
  std::mt19937_64 engine(5);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  for (auto& index : indices)
    index = static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(rows));
  return ls::tensor(indices, {count});
}

}  // namespace

TEMPLATE_TEST_CASE("softmax and its logarithm agree on CUDA along every axis", "", float, double) {
  if (no_device()) return;
  const std::vector<ls::Shape> shapes = {{},      {1},       {7},         {5, 257},  {3, 1025},
                                         {33, 2}, {3, 5, 7}, {2, 19, 33}, {0, 3, 2}, {2, 0, 3}};
  for (const ls::Shape& shape : shapes)
    for (int axis = -1; axis < shape.axes(); ++axis) {
      INFO(to_string(shape) << " along " << axis);
      check_near<TestType>([axis](const Tensors& x) { return ls::softmax(x[0] * 4.0, axis); },
                           {shape}, kSum<TestType>);
      check_near<TestType>([axis](const Tensors& x) { return ls::log_softmax(x[0] * 4.0, axis); },
                           {shape}, kSum<TestType>);
    }
}

TEMPLATE_TEST_CASE("NaN, infinities and logits of +-1000 are treated alike on CUDA", "", float,
                   double) {
  if (no_device()) return;
  auto values = awkward_values<TestType>(1025, 5);
  const auto infinity = std::numeric_limits<TestType>::infinity();
  std::fill_n(values.begin(), 25, -infinity);  // a row of them
  std::fill_n(values.begin() + 25, 12, TestType{1000});
  std::fill_n(values.begin() + 37, 12, TestType{-1000});
  values[49] = 999;
  const Tensors at = {ls::tensor(values, {41, 25})};
  for (const int axis : {0, 1}) {
    const auto soft = on_devices<TestType>(
        [axis](const Tensors& x) { return ls::softmax(x[0], axis); }, at, false);
    CHECK(apart(soft) <= kSum<TestType>);
    CHECK(apart(on_devices<TestType>(
              [axis](const Tensors& x) { return ls::log_softmax(x[0], axis); }, at, false)) <=
          kSum<TestType>);
    if (axis == 1) {
      CHECK(std::isnan(soft.second[0][0]));
      CHECK(soft.second[0][25] == Approx(1 / (12 + std::exp(-1.0))));
    }
  }
  for (TestType& value : values)
    if (std::fabs(value) > 1e3) value = std::numeric_limits<TestType>::quiet_NaN();
  CHECK(apart(on_devices<TestType>([](const Tensors& x) { return ls::layer_norm(x[0], {25}); },
                                   Tensors{ls::tensor(values, {41, 25})}, false)) <=
        kSum<TestType>);
}

TEMPLATE_TEST_CASE("layer_norm agrees on CUDA, with and without weight and bias", "", float,
                   double) {
  if (no_device()) return;
  const std::vector<std::pair<ls::Shape, ls::Shape>> shapes = {
      {{5, 7}, {7}},   {{2, 3, 4}, {3, 4}},  {{6}, {6}},
      {{3, 1}, {1}},   {{1030, 130}, {130}}, {{3, 1025}, {1025}},
      {{700, 9}, {9}}, {{0, 4}, {4}},        {{4099, 3}, {3}}};
  for (const auto& [shape, last] : shapes) {
    INFO(to_string(shape) << " over " << to_string(last));
    const double tolerance = kProduct<TestType>;
    check_near<TestType>(
        [](const Tensors& x) { return ls::layer_norm(x[0], x[1].shape(), x[1], x[2], 0.01); },
        {shape, last, last}, tolerance);
    check_near<TestType>(
        [](const Tensors& x) { return ls::layer_norm(x[0], x[1].shape(), x[1], {}, 0.01); },
        {shape, last}, tolerance);
    check_near<TestType>(
        [](const Tensors& x) { return ls::layer_norm(x[0], x[1].shape(), {}, x[1], 0.01); },
        {shape, last}, tolerance);
  }
}

TEST_CASE("a large mean does not cancel on CUDA") {
  if (no_device()) return;
  CHECK(apart(on_devices<float>([](const Tensors& x) { return ls::layer_norm(x[0], {257}); },
                                Tensors{random_tensor({3, 257}, ls::DType::float32, 4) * 8.0 + 1e6},
                                false)) <= kSum<float>);
}

TEST_CASE("more rows than a grid has warps agree on CUDA") {
  if (no_device()) return;
  CHECK(apart(on_devices<float>(
            [](const Tensors& x) {
              return ls::softmax(ls::layer_norm(x[0], x[1].shape(), x[1], x[2]));
            },
            {{32777, 17}, {17}, {17}}, false)) <= kProduct<float>);
}

TEMPLATE_TEST_CASE("an embedding is the same on CUDA, and its gradient agrees", "", float, double) {
  if (no_device()) return;
  struct Size {
    std::int64_t count, rows, columns;
  };
  for (const auto& [count, rows, columns] : std::vector<Size>{{0, 3, 2},
                                                              {1, 1, 1},
                                                              {7, 5, 3},
                                                              {300, 4, 33},
                                                              {1030, 2000, 5},
                                                              {3, 4, 257},
                                                              {5, 3, 0}}) {
    INFO(count << " of " << rows << " rows of " << columns);
    const ls::Tensor indices = some_indices(count, rows);
    const auto function = [&](const Tensors& x) {
      return ls::embedding(indices.to(x[0].device()), x[0], {.padding_index = rows / 2});
    };
    const auto both = on_devices<TestType>(function, {{rows, columns}}, count % 2 == 1);
    CHECK(same(both.first[0], both.second[0]));
    CHECK(apart(both) <= kSum<TestType>);
    check_near<TestType>(
        [&](const Tensors& x) {
          const ls::Tensor places = indices.to(x[0].device());
          return ls::embedding(places, x[0]) + ls::embedding(places, x[0] * 0.5);
        },
        {{rows, columns}}, kSum<TestType>);
  }
}

TEST_CASE("gradients of an embedding accumulate on CUDA, from int32 indices too") {
  if (no_device()) return;
  ls::Tensor weight = ls::zeros({4, 2}, ls::DType::float32, kCuda).set_requires_grad(true);
  const ls::Tensor indices = ls::tensor<std::int32_t>({3, 1, 3}, {3}, kCuda);
  for (int time = 0; time < 2; ++time) ls::sum(ls::embedding(indices, weight)).backward();
  CHECK(weight.gradient().to_vector() == std::vector<float>{0, 0, 2, 2, 0, 0, 4, 4});
}

TEST_CASE("an index out of range is reported by the next read from CUDA, once") {
  if (no_device()) return;
  ls::Tensor weight = ls::zeros({4, 2}, ls::DType::float32, kCuda).set_requires_grad(true);
  for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const ls::Tensor y = ls::embedding(ls::tensor<std::int64_t>({1, wrong, 1}, {3}, kCuda), weight);
    weight.zero_gradient();
    ls::sum(y).backward();
    std::string text;
    try {
      static_cast<void>(y.to_vector());
    } catch (const ls::InvalidUsage& error) {
      text = error.what();
    }
    INFO(text);
    CHECK(text.find("embedding: an index") != std::string::npos);
    CHECK(text.find("cuda:0") != std::string::npos);
    const auto values = y.to_vector();  // no second time
    CHECK(values[0] == 0);
    CHECK(std::isnan(values[2]));
    CHECK(weight.gradient().to_vector() == std::vector<float>{0, 0, 2, 2, 0, 0, 0, 0});
  }
}

TEMPLATE_TEST_CASE("a loss of smoothed labels agrees on CUDA", "", float, double) {
  if (no_device()) return;
  for (const auto& [rows, classes] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {5, 3}, {33, 17}, {3, 1025}})
    for (const auto reduction : {ls::Reduction::mean, ls::Reduction::sum}) {
      INFO(rows << " x " << classes);
      const ls::Tensor labels = some_indices(rows, classes);
      check_near<TestType>(
          [&](const Tensors& x) {
            return ls::cross_entropy(
                x[0] * 4.0, labels.to(x[0].device()),
                {.reduction = reduction, .ignore_index = 1, .label_smoothing = 0.2});
          },
          {{rows, classes}}, kSum<TestType>);
    }
}

TEST_CASE("operations on rows in a captured step have the bits of the step as it is") {
  if (no_device()) return;
  const auto parameter = [](const ls::Shape& shape, std::uint64_t seed) {
    return ls::Parameter(random_tensor(shape, ls::DType::float32, seed).to(kCuda));
  };
  const auto trained = [&](bool captured) {
    ls::nn::Embedding table{parameter({11, 8}, 1), 0};
    const ls::Parameter weight = parameter({8}, 2);
    const ls::Parameter bias = parameter({8}, 3);
    ls::ParameterList list;
    list.push_back({"table", table.weight().share()});
    list.push_back({"weight", weight.share()});
    list.push_back({"bias", bias.share()});
    ls::optim::Sgd sgd(list, {.learning_rate = 0.1});
    ls::CapturedStep step{[&](const ls::Tensor& indices) {
                            const ls::Tensor rows =
                                ls::layer_norm(table(indices), {8}, weight, bias);
                            const ls::Tensor mixed = rows * ls::softmax(rows, 0);
                            ls::Tensor loss = ls::cross_entropy(ls::linear(mixed, table.weight()),
                                                                indices, {.label_smoothing = 0.1});
                            sgd.zero_grad();
                            loss.backward();
                            sgd.step();
                            return loss;
                          },
                          {.enabled = captured}};
    for (int number = 0; number < 6; ++number)
      static_cast<void>(step(some_indices(20, 5 + number).to(kCuda)).item());
    CHECK(step.replay_count() == (captured ? 4 : 0));
    return table.weight().value().to_vector();
  };
  CHECK(same(trained(false), trained(true)));
}
