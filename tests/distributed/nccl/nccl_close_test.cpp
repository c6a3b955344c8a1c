// What Environment::close() leaves of NCCL: nothing.
#include <catch2/catch.hpp>

#include <lockstep/core/error.hpp>
#include "comm/communicator_backend.hpp"

#include "device_values.hpp"
#include "emulation/control.hpp"

using namespace test;

TEST_CASE("close ends every NCCL communicator, of handles that are gone as well") {
  ls::Environment& env = test_environment();
  const ls::Tensor values = ls::full({64}, 1, ls::DType::float32, env.device());
  env.ranks().all_reduce(values).wait();
  const ls::Communicator kept = env.ranks().duplicate();
  kept.all_reduce(values).wait();
  env.ranks().duplicate().all_reduce(values).wait();  // gone at once
  kept.backend()->register_memory(env.device(), const_cast<void*>(values.raw_data()),
                                  values.byte_count());
  const std::int64_t size = env.size();
  REQUIRE(numbers_of(values) == std::vector<double>(64, static_cast<double>(size * size * size)));
  REQUIRE(emulation::live_handles("ncclComm") == (size > 1 ? 3 : 0));
  REQUIRE(emulation::live_handles("ncclRegistration") == (size > 1 ? 1 : 0));
  env.close();
  REQUIRE(emulation::live_handles("ncclComm") == 0);
  REQUIRE(emulation::live_handles("ncclRegistration") == 0);
  REQUIRE_THROWS_AS(kept.all_reduce(values), ls::InvalidUsage);
}
