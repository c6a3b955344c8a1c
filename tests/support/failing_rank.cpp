// One rank's assertion fails while the others wait for it in a collective. The job must end with
// an error, soon, and say which rank it was: expect_failing_rank.sh looks.
#include <catch2/catch.hpp>

#include <lockstep/core/create.hpp>

#include "support/test_environment.hpp"

TEST_CASE("everybody passes") { CHECK(test_environment().size() == 3); }

TEST_CASE("rank 1 fails") {
  const auto& env = test_environment();
  CHECK(env.rank() != 1);
  lockstep::Tensor values = lockstep::full({1}, 1);
  env.ranks().all_reduce(values).wait();
}
