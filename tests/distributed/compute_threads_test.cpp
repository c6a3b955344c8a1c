// Under run, the ranks of a host share its cores: two ranks on two cores never run four busy
// threads.
#include <dlfcn.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include <lockstep/core/create.hpp>

#include "backend/backend.hpp"
#include "comm/settings.hpp"
#include "support/test_environment.hpp"

namespace {

namespace ls = lockstep;

double sum_over_ranks(double value) {
  ls::Tensor sum = ls::full({}, value, ls::DType::float64);
  test_environment().ranks().all_reduce(sum).wait();
  return sum.item();
}

}  // namespace

TEST_CASE("run gives each rank its part of the cores, and the BLAS the same number of threads") {
  if (std::getenv("OMP_NUM_THREADS") != nullptr || std::getenv("MKL_NUM_THREADS") != nullptr)
    return;
  const int threads = ls::backend::cpu_thread_count();
  const int cores = ls::detail::usable_core_count();
  if (std::getenv("LOCKSTEP_TEST_ONE_CORE") != nullptr) {
    // Whatever the host has: this rank is bound to one core.
    CHECK(cores == 1);
    CHECK(threads == 1);
  } else {
    // Not bound, so all ranks may use the same cores.
    CHECK(threads == std::max(1, cores / test_environment().local_size()));
    CHECK(sum_over_ranks(threads) <= std::max(cores, test_environment().local_size()));
  }
  const auto blas_threads =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  if (blas_threads != nullptr) CHECK(blas_threads() == threads);
}
