#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "interop/orders.hpp"

namespace {

constexpr int kSkipped = 77;  // as the tests' registration says

/// A build with CUDA on a machine without a GPU has nothing to test. Before MPI is started.
const bool present = [] {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  std::puts("no GPU: nothing was tested");
  std::fflush(stdout);
  std::_Exit(kSkipped);
}();

}  // namespace

namespace orders {

std::uint64_t count() { return present ? 1 : 0; }
void choose(std::uint64_t) {}
std::int64_t host_waits() { return 0; }

}  // namespace orders
