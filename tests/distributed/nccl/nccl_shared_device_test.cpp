// All ranks on one GPU of one host.
#include <catch2/catch.hpp>

#include <lockstep/core/error.hpp>

#include "device_values.hpp"

using namespace test;

TEST_CASE("two ranks on one GPU are named on every rank, and nothing is broken") {
  const ls::Communicator& ranks = test_environment().ranks();
  const ls::Tensor values = ls::zeros({2}, ls::DType::float32, test_environment().device());
  for (int round = 0; round < 2; ++round) try {
      ranks.all_reduce(values);
      FAIL("it went through");
    } catch (const ls::InvalidUsage& error) {
      const std::string text = error.what();
      INFO(text);
      for (const char* part : {"rank 0 (", "rank 1 (", "cuda:0", "GPU-", "CUDA_VISIBLE_DEVICES",
                               "LOCKSTEP_SHARE_DEVICE=1"})
        REQUIRE(text.find(part) != std::string::npos);
    }
  const ls::Tensor host = ls::full({2}, 1);
  ranks.all_reduce(host).wait();
  REQUIRE(numbers(host) == std::vector<double>(2, ranks.size()));
}
