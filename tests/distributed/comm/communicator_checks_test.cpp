// What is refused on one rank alone, before anything is sent: the communicator lives on.
#include <catch2/catch.hpp>

#include <lockstep/core/error.hpp>

#include "support/test_environment.hpp"
#include "values.hpp"

using namespace test;
using Catch::Matchers::Contains;

TEST_CASE("wrong arguments are refused where they are given") {
  const ls::Communicator& ranks = test_environment().ranks();
  const int size = ranks.size();
  const std::string here = " on rank " + std::to_string(ranks.rank()) + ": ";
  ls::Tensor values = ls::zeros({6});

  REQUIRE_THROWS_AS(ranks.all_reduce(ls::Tensor()), ls::InvalidUsage);
  REQUIRE_THROWS_WITH(ranks.all_reduce(ls::zeros({2}, ls::DType::uint8), ls::ReduceOp::max),
                      Contains("all_reduce" + here + "no max of uint8"));
  REQUIRE_THROWS_AS(ranks.broadcast(values, size), ls::InvalidUsage);
  REQUIRE_THROWS_AS(ranks.broadcast(values, -1), ls::InvalidUsage);
  REQUIRE_THROWS_AS(ranks.send(values, ranks.rank()), ls::InvalidUsage);
  REQUIRE_THROWS_AS(ranks.receive(values, size), ls::InvalidUsage);
  if (size > 1) {
    const int other = (ranks.rank() + 1) % size;
    REQUIRE_THROWS_AS(ranks.send(values, other, -1), ls::InvalidUsage);
    REQUIRE_THROWS_AS(ranks.send(values, other, 32768), ls::InvalidUsage);
  }
  const float constant[6] = {};
  REQUIRE_THROWS_AS(ranks.all_reduce(ls::borrow(constant, {6})), ls::InvalidUsage);
  REQUIRE(ranks.agree(true));
}

TEST_CASE("counts, dtypes and memory of input and output must fit") {
  const ls::Communicator& ranks = test_environment().ranks();
  const int size = ranks.size();
  ls::Tensor part = ls::zeros({3});
  ls::Tensor whole = ls::zeros({3 * size});
  REQUIRE_THROWS_AS(ranks.all_gather(part, ls::zeros({3 * size + 1})), ls::ShapeError);
  REQUIRE_THROWS_AS(ranks.reduce_scatter(ls::zeros({3 * size + 1}), part), ls::ShapeError);
  REQUIRE_THROWS_AS(ranks.all_gather(part, ls::zeros({3 * size}, ls::DType::float64)),
                    ls::InvalidUsage);
  REQUIRE_THROWS_AS(ranks.all_to_all(whole, whole), ls::InvalidUsage);
  if (size > 1) REQUIRE_THROWS_AS(ranks.all_to_all(part, ls::zeros({4})), ls::ShapeError);

  std::vector<float> memory(static_cast<std::size_t>(3 * size + 1));
  const ls::Tensor all = ls::borrow(memory.data(), {3 * size});
  const ls::Tensor beside = ls::borrow(memory.data() + 3 * ranks.rank() + 1, {3});
  REQUIRE_THROWS_WITH(ranks.all_gather(beside, all), Contains("overlap"));
  REQUIRE_THROWS_WITH(ranks.reduce_scatter(all, beside), Contains("overlap"));
  REQUIRE(ranks.agree(true));
}
