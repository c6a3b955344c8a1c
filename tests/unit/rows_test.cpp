// What is particular to operations on rows: errors, extremes, and their layers.
#include <catch2/catch.hpp>
#include <cmath>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/nn/embedding.hpp>
#include <lockstep/nn/layer_norm.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> names(const ls::ParameterList& parameters) {
  std::vector<std::string> result;
  for (const ls::NamedParameter& named : parameters) result.push_back(named.name);
  return result;
}

/// Embedding and output layer of one weight.
struct Tied {
  ls::nn::Embedding in{5, 3};
  ls::nn::LayerNorm norm{3};
  ls::nn::Linear out{in.weight().share()};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("in", in);
    visitor("norm", norm);
    visitor("out", out);
  }
};

const ls::Tensor kIndices = ls::tensor<std::int64_t>({3, 1, 3}, {3});

}  // namespace

TEST_CASE("softmax stays exact where exponentials overflow") {
  const ls::Tensor x = ls::tensor({1000.0F, -1000.0F, 1000.0F}, {3});
  CHECK(ls::softmax(x).to_vector() == std::vector<float>{0.5, 0, 0.5});
  const auto logarithms = ls::log_softmax(x).to_vector();
  CHECK(logarithms[0] == Approx(-std::log(2.0)));
  CHECK(logarithms[1] == Approx(-2000 - std::log(2.0)));
}

TEST_CASE("softmax refuses an axis that is not there, and other dtypes") {
  const ls::Tensor x = ls::zeros({2, 3});
  CHECK_THROWS_AS(ls::softmax(x, 2), ls::ShapeError);
  CHECK_THROWS_AS(ls::log_softmax(x, -3), ls::ShapeError);
  CHECK_THROWS_AS(ls::softmax(ls::zeros({}), 1), ls::ShapeError);
  CHECK_THROWS_AS(ls::softmax(ls::zeros({2}, ls::DType::int64)), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::log_softmax({}), ls::InvalidUsage);
}

TEST_CASE("layer_norm refuses shapes that do not fit, and mixed dtypes") {
  const ls::Tensor x = ls::zeros({2, 3, 4});
  CHECK_THROWS_WITH(ls::layer_norm(x, {3}), Contains("(2, 3, 4)") && Contains("(3)"));
  CHECK_THROWS_AS(ls::layer_norm(x, {2, 2, 3, 4}), ls::ShapeError);
  CHECK_THROWS_AS(ls::layer_norm(x, {}), ls::ShapeError);
  CHECK_THROWS_WITH(ls::layer_norm(x, {3, 4}, ls::zeros({4})), Contains("weight (4)"));
  CHECK_THROWS_WITH(ls::layer_norm(x, {4}, {}, ls::zeros({3})), Contains("bias (3)"));
  CHECK_THROWS_AS(ls::layer_norm(x, {4}, ls::zeros({4}, ls::DType::float64)), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::layer_norm(ls::zeros({4}, ls::DType::int32), {4}), ls::InvalidUsage);
}

TEST_CASE("an embedding takes int32 indices of any shape") {
  const ls::Tensor weight = ls::tensor({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2});
  const ls::Tensor indices = ls::tensor<std::int32_t>({1, 0, 1, 1}, {2, 1, 2});
  const ls::Tensor y = ls::embedding(indices, weight);
  CHECK(y.shape() == ls::Shape{2, 1, 2, 2});
  CHECK(y.to_vector() == std::vector<float>{3, 4, 1, 2, 3, 4, 3, 4});
}

TEST_CASE("an embedding names the index that is out of range") {
  const ls::Tensor weight = ls::zeros({4, 2});
  for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const ls::Tensor indices = ls::tensor<std::int64_t>({0, wrong}, {2});
    CHECK_THROWS_AS(ls::embedding(indices, weight), ls::InvalidUsage);
    CHECK_THROWS_WITH(ls::embedding(indices, weight), Contains("index " + std::to_string(wrong)) &&
                                                          Contains("position 1") &&
                                                          Contains("4 rows"));
  }
  CHECK_THROWS_AS(ls::embedding(kIndices, ls::zeros({0, 2})), ls::InvalidUsage);
}

TEST_CASE("an embedding refuses other dtypes, shapes and padding rows") {
  const ls::Tensor weight = ls::zeros({4, 2});
  CHECK_THROWS_WITH(ls::embedding(ls::zeros({3}), weight), Contains("int64 or int32"));
  CHECK_THROWS_AS(ls::embedding(ls::zeros({3}, ls::DType::uint8), weight), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::embedding(kIndices, ls::zeros({4})), ls::ShapeError);
  CHECK_THROWS_AS(ls::embedding(kIndices, ls::zeros({4, 2}, ls::DType::int64)), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::embedding(kIndices, weight, {.padding_index = 4}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::embedding(kIndices, weight, {.padding_index = -1}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::embedding(ls::zeros({1, 1, 1, 1, 1, 1, 1, 1}, ls::DType::int64), weight),
                  ls::ShapeError);
}

TEST_CASE("gradients of an embedding add up over backwards, those of padding stay 0") {
  ls::Tensor weight = ls::zeros({4, 1}).set_requires_grad(true);
  for (int time = 0; time < 2; ++time)
    ls::sum(ls::embedding(kIndices, weight, {.padding_index = 1})).backward();
  CHECK(weight.gradient().to_vector() == std::vector<float>{0, 0, 0, 4});
}

TEST_CASE("backward refuses what was written to since the forward pass") {
  ls::Tensor x = ls::full({2, 3}, 2.0).set_requires_grad(true);
  ls::Tensor weight = ls::full({3}, 2.0);
  ls::Tensor y = ls::softmax(x);
  y.mutable_data<float>()[0] = 1;
  CHECK_THROWS_WITH(y.backward(ls::zeros({2, 3})), Contains("softmax"));
  const ls::Tensor normalized = ls::layer_norm(x, {3}, weight);
  weight.fill(1);
  CHECK_THROWS_WITH(normalized.backward(ls::zeros({2, 3})), Contains("layer_norm"));
  ls::Tensor indices = kIndices.clone();
  const ls::Tensor looked_up = ls::embedding(indices, ls::zeros({4, 1}).set_requires_grad(true));
  indices.mutable_data<std::int64_t>()[0] = 0;
  CHECK_THROWS_WITH(ls::sum(looked_up).backward(), Contains("embedding"));
}

TEST_CASE("labels are smoothed by a part of one") {
  const ls::Tensor logits = ls::zeros({1, 2});
  const ls::Tensor labels = ls::tensor<std::int64_t>({0}, {1});
  for (const double wrong : {-0.1, 1.5, std::nan("")})
    CHECK_THROWS_WITH(ls::cross_entropy(logits, labels, {.label_smoothing = wrong}),
                      Contains("label smoothing"));
  const ls::Tensor lost = ls::tensor<double>({0, -INFINITY}, {1, 2});
  CHECK(ls::cross_entropy(lost, labels).item() == 0);
  CHECK(ls::cross_entropy(lost, labels, {.label_smoothing = 0.5}).item() == INFINITY);
}

TEST_CASE("LayerNorm has PyTorch's names, and the parameters that it is asked for") {
  ls::nn::LayerNorm full{4, {.epsilon = 1e-3}};
  CHECK(names(ls::parameters(full)) == std::vector<std::string>{"weight", "bias"});
  CHECK(full.weight().value().to_vector() == std::vector<float>(4, 1));
  CHECK(full.bias().value().to_vector() == std::vector<float>(4, 0));
  CHECK(full.epsilon() == 1e-3);
  ls::nn::LayerNorm without_bias{ls::Shape{2, 3}, {.bias = false, .dtype = ls::DType::float64}};
  CHECK(names(ls::parameters(without_bias)) == std::vector<std::string>{"weight"});
  CHECK(without_bias.weight().shape() == ls::Shape{2, 3});
  CHECK(without_bias.weight().value().dtype() == ls::DType::float64);
  ls::nn::LayerNorm plain{4, {.affine = false}};
  CHECK(ls::parameters(plain).empty());
}

TEST_CASE("LayerNorm is layer_norm of its parameters, and its clone has its own") {
  const ls::Tensor x = ls::tensor({1.0F, 2.0F, 4.0F, 3.0F, 3.0F, 3.0F}, {2, 3});
  ls::nn::LayerNorm layer{3, {.epsilon = 0.5}};
  layer.weight().value().fill(2);
  layer.bias().value().fill(1);
  const auto expected =
      ls::layer_norm(x, {3}, ls::full({3}, 2.0), ls::full({3}, 1.0), 0.5).to_vector();
  CHECK(layer(x).to_vector() == expected);
  CHECK(expected[3] == 1);
  const ls::nn::LayerNorm copy = layer.clone();
  layer.weight().value().fill(0);
  CHECK(copy(x).to_vector() == expected);
  CHECK(copy.epsilon() == 0.5);
  const ls::nn::LayerNorm plain{3, {.affine = false}};
  CHECK(plain.clone()(x).to_vector() == ls::layer_norm(x, {3}).to_vector());
}

TEST_CASE("Embedding starts normally, its padding row at zero, from the seed alone") {
  ls::Generator generator{3};
  const ls::nn::Embedding layer{200, 50, generator, {.padding_index = 7}};
  const auto weight = layer.weight().value().to_vector();
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    CHECK((weight[i] == 0) == (i / 50 == 7));
    sum += weight[i];
    squares += weight[i] * weight[i];
  }
  CHECK(std::abs(sum / 9950) < 0.03);
  CHECK(std::abs(squares / 9950 - 1) < 0.05);
  ls::Generator again{3};
  const ls::nn::Embedding same{200, 50, again, {.padding_index = 7}};
  CHECK(same.weight().value().to_vector() == weight);
  CHECK(layer.rows() == 200);
  CHECK(layer.columns() == 50);
}

TEST_CASE("Embedding keeps its padding index in a clone, and checks what it is given") {
  ls::nn::Embedding layer{ls::Parameter(ls::full({4, 1}, 2.0)), 3};
  ls::nn::Embedding copy = layer.clone();
  CHECK_FALSE(copy.weight().same(layer.weight()));
  ls::sum(copy(kIndices)).backward();
  CHECK(copy.weight().gradient().to_vector() == std::vector<float>{0, 1, 0, 0});
  CHECK_FALSE(layer.weight().has_gradient());
  CHECK_THROWS_AS(ls::nn::Embedding(ls::Parameter(ls::zeros({3}))), ls::ShapeError);
  CHECK_THROWS_AS(ls::nn::Embedding(ls::Parameter{}), ls::ShapeError);
  CHECK_THROWS_AS(ls::nn::Embedding(3, 2, {.padding_index = 3}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::nn::Embedding(3, 2, {.padding_index = -1}), ls::InvalidUsage);
}

TEST_CASE("an embedding whose weight is the output layer's too gets both gradients") {
  Tied model;
  CHECK(names(ls::parameters(model)) ==
        std::vector<std::string>{"in.weight", "norm.weight", "norm.bias"});
  const ls::Tensor logits = model.out(model.norm(model.in(kIndices)));
  CHECK(logits.shape() == ls::Shape{3, 5});
  ls::cross_entropy(logits, kIndices, {.label_smoothing = 0.1}).backward();
  const auto gradient = model.in.weight().gradient().to_vector();
  for (std::size_t row = 0; row < 5; ++row) CHECK(gradient[3 * row] != 0);
}
