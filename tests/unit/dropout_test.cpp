// Dropout: the mask is a function of seed, stream and offset; layers know training from evaluation.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/nn/activation.hpp>
#include <lockstep/nn/dropout.hpp>
#include <lockstep/nn/sequential.hpp>

namespace ls = lockstep;

namespace {

ls::Generator generator_at(std::uint64_t offset) {
  ls::Generator generator(7, 9);
  generator.set_offset(offset);
  return generator;
}

/// Dropout at the root, in a list and below another layer.
struct Net {
  ls::nn::Dropout first{0.25};
  std::vector<ls::nn::Dropout> list{ls::nn::Dropout{}, ls::nn::Dropout{}};
  ls::nn::Sequential<ls::nn::ReLU, ls::nn::Dropout> inner{ls::nn::ReLU{}, ls::nn::Dropout{1}};
  ls::Parameter weight{ls::full({3}, 1.0)};
  ls::Buffer mean{ls::full({3}, 1.0)};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("first", first);
    visitor("list", list);
    visitor("inner", inner);
    visitor("weight", weight);
    visitor("mean", mean);
  }
  std::vector<bool> modes() const {
    return {first.training(), list[0].training(), list[1].training(), inner.layer<1>().training()};
  }
};

}  // namespace

static_assert(ls::Module<ls::nn::Dropout>);

TEST_CASE("dropout keeps what bernoulli would draw as 1 at the same position") {
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64})
    for (const double probability : {0.0, 0.3, 0.5, 1.0}) {
      const ls::Tensor x = ls::full({3, 341}, 2.0, dtype);
      ls::Generator drawn = generator_at(100);
      ls::Generator same = generator_at(100);
      const auto y = ls::dropout(x, probability, drawn).to(ls::DType::float64).to_vector<double>();
      const auto mask = ls::bernoulli({1023}, 1 - probability, ls::DType::float64, same);
      CHECK(drawn.offset() == same.offset());
      const double kept = dtype == ls::DType::float32
                              ? 2.0F * static_cast<float>(1 / (1 - probability))
                              : 2.0 * (1 / (1 - probability));
      bool right = true;
      const auto expected = mask.to_vector<double>();
      for (std::size_t i = 0; i < y.size(); ++i)
        right = right && y[i] == (expected[i] == 1 ? kept : 0.0);
      CHECK(right);
    }
}

TEST_CASE("backward draws the mask of forward, whatever was drawn in between") {
  ls::Generator generator = generator_at(3);
  ls::Tensor x = ls::full({1001}, 1.0, ls::DType::float64).set_requires_grad(true);
  const ls::Tensor y = ls::dropout(x, 0.4, generator);
  ls::uniform({50}, 0, 1, ls::DType::float32, generator);
  const auto forward = y.to_vector<double>();
  ls::sum(y).backward();
  CHECK(x.gradient().to_vector<double>() == forward);  // of ones: the mask over 1 - p
}

TEST_CASE("what dropout leaves out is 0, also where it was not finite") {
  ls::Generator generator(1);
  const double odd[] = {INFINITY, -INFINITY, NAN};
  const ls::Tensor x = ls::tensor(std::span<const double>(odd), {3});
  CHECK(ls::dropout(x, 1, generator).to_vector<double>() == std::vector<double>(3, 0.0));
}

TEST_CASE("dropout refuses what is no probability, and other dtypes") {
  ls::Generator generator(1);
  const ls::Tensor x = ls::zeros({3});
  CHECK_THROWS_AS(ls::dropout(x, 1.5, generator), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::dropout(x, -0.1, generator), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::dropout(x, std::nan(""), generator), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::dropout(x.to(ls::DType::int32), 0.5, generator), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::nn::Dropout(2), ls::InvalidUsage);
  CHECK(generator.offset() == 0);  // nothing was drawn
}

TEST_CASE("train and eval reach every module that knows the difference") {
  Net net;
  CHECK(net.modes() == std::vector<bool>(4, true));
  ls::eval(net);
  CHECK(net.modes() == std::vector<bool>(4, false));
  CHECK_FALSE(net.first.clone().training());
  ls::train(net);
  CHECK(net.modes() == std::vector<bool>(4, true));
  net.inner.layer<1>().set_training(false);
  CHECK(net.modes() == std::vector<bool>{true, true, true, false});
}

TEST_CASE("the layer draws from the default generator, and in evaluation not at all") {
  ls::nn::Dropout layer{0.25};
  const ls::Tensor x = ls::full({101}, 3.0);
  ls::default_generator() = generator_at(40);
  ls::Generator same = generator_at(40);
  CHECK(layer(x).to_vector() == ls::dropout(x, 0.25, same).to_vector());
  CHECK(ls::default_generator().offset() == same.offset());
  ls::eval(layer);
  CHECK(layer(x).to_vector() == x.to_vector());
  CHECK(ls::default_generator().offset() == same.offset());
}
