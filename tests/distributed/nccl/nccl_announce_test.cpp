// A rank that says that it will not go on ends what the others wait for on their GPUs.
#include <catch2/catch.hpp>

#include <mpi.h>

#include <lockstep/core/error.hpp>

#include "device_values.hpp"

using namespace test;

TEST_CASE("a rank that announces its failure ends the wait of the others for its GPU") {
  const ls::Communicator& ranks = test_environment().ranks();
  const ls::Tensor values = ls::zeros({3}, ls::DType::float32, test_environment().device());
  ranks.all_reduce(values).wait();
  if (ranks.rank() == ranks.size() - 1) {
    ranks.announce_failure("no more data");
    REQUIRE_THROWS_AS(ranks.all_reduce(values), ls::CommunicationError);
    MPI_Barrier(MPI_COMM_WORLD);  // its program must not end before the others have read that
    return;
  }
  try {
    ranks.all_reduce(values).wait();
    values.to_vector<float>();
    FAIL("it went through");
  } catch (const ls::CommunicationError& error) {
    const std::string text = error.what();
    INFO(text);
    REQUIRE(text.find("rank " + std::to_string(ranks.size() - 1) + " failed") != std::string::npos);
    REQUIRE(text.find("no more data") != std::string::npos);
    REQUIRE(error.rank() == ranks.size() - 1);
  }
  REQUIRE_THROWS_AS(ranks.all_reduce(values), ls::CommunicationError);
  MPI_Barrier(MPI_COMM_WORLD);
}
