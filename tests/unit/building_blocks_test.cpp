// Modules that are made of others: names, modes, copies, and what is refused.
#include <catch2/catch.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/nn/mlp.hpp>
#include <lockstep/nn/residual.hpp>
#include <lockstep/nn/sequential.hpp>

namespace ls = lockstep;
using ls::nn::GELU;
using ls::nn::Linear;
using ls::nn::Mlp;
using ls::nn::Residual;
using ls::nn::Sequential;

namespace {

template <class Model>
std::vector<std::string> names(Model&& model) {
  std::vector<std::string> list;
  for (const auto& [name, parameter] : ls::parameters(model)) list.push_back(name);
  return list;
}

static_assert(ls::Module<Mlp<>> && ls::Module<Residual<Linear>>);
static_assert(std::is_nothrow_move_constructible_v<Mlp<>> && !std::is_copy_constructible_v<Mlp<>>);

}  // namespace

TEST_CASE("layers of an Mlp are numbered as in a Sequential of all of them") {
  using Names = std::vector<std::string>;
  CHECK(names(Mlp{{4, 3}}) == Names{"0.weight", "0.bias"});
  CHECK(names(Mlp{{4, 3, 2}, {.bias = false}}) == Names{"0.weight", "2.weight"});
  CHECK(names(Mlp{{4, 3, 2, 1}, {.dropout = 0.5, .bias = false}}) ==
        Names{"0.weight", "3.weight", "6.weight"});
  CHECK(names(Sequential{Residual{Linear{3, 3}}, Residual{Mlp<GELU>{{3, 5, 3}}}}) ==
        Names{"0.block.weight", "0.block.bias", "1.block.0.weight", "1.block.0.bias",
              "1.block.2.weight", "1.block.2.bias"});
}

TEST_CASE("an Mlp starts with the numbers of its layers alone, and computes what they do") {
  ls::default_generator() = ls::Generator{3};
  const Mlp<GELU> mlp{{4, 6, 2}};
  ls::default_generator() = ls::Generator{3};
  const Sequential same{Linear{4, 6}, GELU{}, Linear{6, 2}};
  const ls::Tensor x = ls::randn({5, 4});
  CHECK(mlp(x).to_vector() == same(x).to_vector());
  CHECK(mlp.layers()[1].out_features() == 2);
}

TEST_CASE("blocks take batches of any size, and sizes of 0") {
  const Residual block{Mlp{{1, 1, 1}, {.dtype = ls::DType::float64}}};
  for (const ls::Shape& shape : {ls::Shape{1}, {0, 1}, {1, 1}, {2, 3, 1}}) {
    ls::Tensor x = ls::full(shape, 0.5, ls::DType::float64).set_requires_grad(true);
    const ls::Tensor y = block(x);
    CHECK(y.shape() == shape);
    ls::sum(y).backward();
    CHECK(x.gradient().shape() == shape);
  }
  CHECK(Mlp{{0, 3}}(ls::zeros({2, 0})).shape() == ls::Shape{2, 3});
}

TEST_CASE("train and eval reach the dropout of blocks at any depth") {
  Sequential model{Residual{Mlp{{8, 64, 8}, {.dropout = 0.5}}}, Mlp{{8, 64, 4}, {.dropout = 0.5}}};
  const ls::Tensor x = ls::randn({3, 8});
  const auto once = [&] { return model(x).to_vector(); };
  CHECK(once() != once());
  ls::eval(model);
  const auto evaluated = once();
  CHECK(once() == evaluated);
  CHECK(model.clone()(x).to_vector() == evaluated);
  ls::train(model);
  CHECK(once() != once());
  CHECK(once() != evaluated);

  Residual one{Mlp{{8, 64, 8}, {.dropout = 0.5}}};
  ls::eval(one);
  CHECK(one(x).to_vector() == one(x).to_vector());
  ls::train(one);
  CHECK(one(x).to_vector() != one(x).to_vector());
}

TEST_CASE("a clone of a block has parameters of its own") {
  Residual block{Mlp{{2, 3, 2}}};
  Residual copy = block.clone();
  const ls::Tensor x = ls::randn({4, 2});
  const auto before = block(x).to_vector();
  CHECK(copy(x).to_vector() == before);
  copy.block().layers()[0].weight().value().fill(0);
  copy.block().layers()[1].bias().value().fill(0);
  CHECK(block(x).to_vector() == before);
  CHECK(copy(x).to_vector() != before);
}

TEST_CASE("blocks that do not fit together are refused") {
  CHECK_THROWS_AS((Mlp{{4}}), ls::InvalidUsage);
  CHECK_THROWS_AS(Mlp{std::vector<std::int64_t>{}}, ls::InvalidUsage);
  CHECK_THROWS_AS((Mlp{{4, 3, 2}, {.dropout = 1.5}}), ls::InvalidUsage);
  CHECK_THROWS_AS((Mlp{{4, -3}}), ls::ShapeError);
  // Would be broadcast.
  CHECK_THROWS_AS(Residual{Linear(4, 1)}(ls::zeros({2, 4})), ls::ShapeError);
}
