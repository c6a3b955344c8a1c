// The group of one. No MPI, no environment.
#include <catch2/catch.hpp>

#include <lockstep/comm/communicator.hpp>
#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

namespace ls = lockstep;

TEST_CASE("in a group of one every verb completes at once") {
  const ls::Communicator alone;
  REQUIRE(alone.rank() == 0);
  REQUIRE(alone.size() == 1);
  const ls::Tensor input = ls::tensor<float>({1, 2, 3}, {3});
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
    ls::Tensor values = input.clone();
    REQUIRE(alone.all_reduce(values, ls::ReduceOp::sum, order).done());
    REQUIRE(values.to_vector() == input.to_vector());
  }
  ls::Tensor output = ls::zeros({3});
  REQUIRE(alone.reduce_scatter(input, output).done());
  REQUIRE(output.to_vector() == input.to_vector());
  output.fill(0);
  REQUIRE(alone.all_gather(input, output).done());
  REQUIRE(output.to_vector() == input.to_vector());
  output.fill(0);
  REQUIRE(alone.all_to_all(input, output).done());
  REQUIRE(output.to_vector() == input.to_vector());
  REQUIRE(alone.broadcast(output, 0).done());
  REQUIRE(alone.gather_bytes("own") == std::vector<std::string>{"own"});
  REQUIRE(alone.agree(true));
  REQUIRE_FALSE(alone.agree(false));
  alone.barrier();
  alone.poll();
}

TEST_CASE("a group of one has no other rank to message") {
  const ls::Communicator alone;
  ls::Tensor values = ls::zeros({3});
  REQUIRE_THROWS_AS(alone.send(values, 0), ls::InvalidUsage);
  REQUIRE_THROWS_AS(alone.receive(values, 1), ls::InvalidUsage);
}

TEST_CASE("what comes from a group of one is a group of one with its deadline") {
  const ls::Communicator alone;
  alone.set_timeout(std::chrono::seconds{3});
  REQUIRE(alone.split(5).size() == 1);
  REQUIRE(alone.split(-1).timeout() == std::chrono::seconds{3});
  REQUIRE(alone.duplicate().timeout() == std::chrono::seconds{3});
}
