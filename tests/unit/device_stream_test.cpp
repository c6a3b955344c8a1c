#include <catch2/catch.hpp>

#include <lockstep/core/device_stream.hpp>
#include <lockstep/core/error.hpp>

namespace ls = lockstep;

TEST_CASE("without a GPU, streams and pointers of a CUDA program are refused") {
  if (ls::cuda_device_count() > 0) return;
  float value = 0;
  CHECK_THROWS_AS(ls::detail::enter_stream(0, nullptr), ls::BackendUnavailable);
  CHECK_THROWS_AS(ls::detail::device_stream(0), ls::BackendUnavailable);
  CHECK_THROWS_AS(ls::detail::device_of_pointer(&value, -1), ls::BackendUnavailable);
  CHECK_THROWS_AS(ls::detail::device_of_pointer(&value, 0), ls::BackendUnavailable);
  CHECK_NOTHROW(ls::detail::leave_stream(0, {}));
}
