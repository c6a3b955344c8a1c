// Streams are lazy and their order follows from a seed, so that what is not ordered shows.
#include "emulation/tests/device.hpp"

using emulated_test::Buffer;
using emulated_test::check;
using emulated_test::Event;
using emulated_test::launch;
using emulated_test::Stream;

namespace {

__global__ void fill(float* __restrict__ values, float value, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] = value;
}

__global__ void add_one(float* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += 1;
}

// One stream writes, another adds one, the first one reads back; the edges are those asked for.
std::vector<float> ping_pong(bool there, bool back) {
  constexpr int kCount = 100;
  Buffer<float> values(kCount);
  Stream first;
  Stream second;
  Event written;
  Event added;
  launch(fill, 4, 32, first, values.data(), 41.0f, kCount);
  check(cudaEventRecord(written, first));
  if (there) check(cudaStreamWaitEvent(second, written, 0));
  launch(add_one, 4, 32, second, values.data(), kCount);
  check(cudaEventRecord(added, second));
  if (back) check(cudaStreamWaitEvent(first, added, 0));
  return values.values(first);
}

int wrong_seeds(bool there, bool back) {
  int wrong = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    emulation::set_seed(seed);
    wrong += ping_pong(there, back) != std::vector<float>(100, 42.0f);
  }
  return wrong;
}

}  // namespace

TEST_CASE("work that is ordered by events gives its result with every seed") {
  emulation::reset();
  CHECK(wrong_seeds(true, true) == 0);
}

TEST_CASE("a missing event wait shows with some seeds, and not with all") {
  emulation::reset();
  for (const bool there : {false, true}) {
    const int wrong = wrong_seeds(there, !there);
    CHECK(wrong > 5);
    CHECK(wrong < 50);
  }
}
