// Threads of a block: barriers, exchange within a warp, shared memory, 16-bit numbers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>

#include "emulation/tests/device.hpp"
#include "emulation/tests/scale.hpp"

using emulated_test::Buffer;
using emulated_test::check;
using emulated_test::launch;
using emulated_test::Stream;

namespace {

constexpr unsigned kThreads = 96;

// Each block reverses its part; without the barrier it reads what is not there yet.
template <bool barrier>
__global__ void reverse(const float* from, float* to) {
  __shared__ float part[kThreads];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = from[i];
  if constexpr (barrier) __syncthreads();
  to[i] = part[blockDim.x - 1 - threadIdx.x];
}

__global__ void warp_sums(const int* from, int* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int by_xor = from[i];
  for (int step = 16; step > 0; step /= 2) by_xor += __shfl_xor_sync(0xffffffffu, by_xor, step);
  int by_down = from[i];
  for (int step = 16; step > 0; step /= 2) {
    by_down += __shfl_down_sync(0xffffffffu, by_down, static_cast<unsigned>(step));
  }
  const int first = __shfl_sync(0xffffffffu, by_down, 0);
  to[i] = by_xor == first ? by_xor : -1;
}

// A sum over the block of different steps in one kernel, as a loss kernel has them.
__global__ void block_sum(const double* from, double* to, int count) {
  __shared__ double partial[32];
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    sum += from[i];
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0;
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) all += partial[warp];
    *to = all;
  }
}

__global__ void part_of_a_warp(int* to) {
  if (threadIdx.x >= 20) return;  // the others go on without these
  to[threadIdx.x] = __shfl_sync(0x000fffffu, static_cast<int>(threadIdx.x), 3);
  if (threadIdx.x == 0) to[20] = static_cast<int>(__ballot_sync(1u, 1));
  // Named, but ended.
  if (__ballot_sync(0xffffffffu, 1) != 0x000fffffu) to[20] = -1;
}

__global__ void votes(int* to) {
  const int index = static_cast<int>(threadIdx.x);
  const int odd = __syncthreads_count(index % 2);
  const int last = __syncthreads_or(index == 63);
  const int all = __syncthreads_and(index < 63);
  const int few = __syncthreads_count(index < 3);
  to[index] = odd * 1000 + last * 100 + all * 10 + few;
}

__global__ void note_order(int* order, int* next) {
  order[(*next)++] = static_cast<int>(threadIdx.x);
}

__global__ void uninitialized_shared(unsigned* to) {
  __shared__ unsigned value;
  if (threadIdx.x == 0) to[blockIdx.x] = value;
  __syncthreads();
  value = blockIdx.x;
  __syncthreads();
}

__global__ void coordinates(unsigned* seen) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(&seen[block * blockDim.x * blockDim.y * blockDim.z + thread], 1u);
}

template <typename T>
std::vector<T> counting(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{1});
  return values;
}

template <bool barrier>
int wrong_reversals() {
  const std::vector<float> from = counting<float>(4 * kThreads);
  int wrong = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    emulation::set_seed(seed);
    Stream stream;
    Buffer<float> source(from);
    Buffer<float> target(from.size());
    launch(reverse<barrier>, 4, kThreads, stream, static_cast<const float*>(source.data()),
           target.data());
    const std::vector<float> got = target.values(stream);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t mirrored = i / kThreads * kThreads + kThreads - 1 - i % kThreads;
      if (got[i] != from[mirrored]) {
        ++wrong;
        break;
      }
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("a barrier orders the threads of a block, and without it the result is wrong") {
  emulation::reset();
  CHECK(wrong_reversals<true>() == 0);
  CHECK(wrong_reversals<false>() == 20);
}

TEST_CASE("shuffles sum a warp") {
  emulation::reset();
  for (unsigned seed = 0; seed < 10; ++seed) {
    emulation::set_seed(seed);
    Stream stream;
    Buffer<int> source(counting<int>(128));
    Buffer<int> target(128);
    launch(warp_sums, 2, 64, stream, static_cast<const int*>(source.data()), target.data());
    const std::vector<int> got = target.values(stream);
    for (int i = 0; i < 128; ++i) {
      const int first = i / 32 * 32;
      CHECK(got[static_cast<std::size_t>(i)] == 32 * first + 32 * 33 / 2);
    }
  }
}

TEST_CASE("a block sums with shuffles and a barrier") {
  emulation::reset();
  for (unsigned seed = 0; seed < 10; ++seed) {
    emulation::set_seed(seed);
    Stream stream;
    Buffer<double> source(counting<double>(1000));
    Buffer<double> target(1);
    launch(block_sum, 1, 256, stream, static_cast<const double*>(source.data()), target.data(),
           1000);
    CHECK(target.values(stream).front() == 500500.0);
  }
}

TEST_CASE("lanes that are not named, or have ended, are not waited for") {
  emulation::reset();
  Stream stream;
  Buffer<int> target(21);
  launch(part_of_a_warp, 1, 32, stream, target.data());
  std::vector<int> expected(20, 3);
  expected.push_back(1);
  CHECK(target.values(stream) == expected);
}

TEST_CASE("a block votes") {
  emulation::reset();
  Stream stream;
  Buffer<int> target(64);
  launch(votes, 1, 64, stream, target.data());
  CHECK(target.values(stream) == std::vector<int>(64, 32103));
}

TEST_CASE("the order of threads follows from the seed") {
  emulation::reset();
  std::set<std::vector<int>> orders;
  for (const unsigned seed : {1u, 2u, 3u, 1u, 2u, 3u}) {
    emulation::set_seed(seed);
    Stream stream;
    Buffer<int> order(64);
    Buffer<int> next(std::vector<int>{0});
    launch(note_order, 1, 64, stream, order.data(), next.data());
    const std::vector<int> got = order.values(stream);
    CHECK(std::set<int>(got.begin(), got.end()).size() == 64);
    orders.insert(got);
  }
  CHECK(orders.size() == 3);
}

TEST_CASE("a block finds its shared memory without the values of the block before") {
  emulation::reset();
  Stream stream;
  Buffer<unsigned> found(5);
  launch(uninitialized_shared, 5, 32, stream, found.data());
  CHECK(found.values(stream) == std::vector<unsigned>(5, 0xffffffffu));
}

TEST_CASE("grids and blocks have three dimensions") {
  emulation::reset();
  Stream stream;
  constexpr std::size_t kAll = 2 * 3 * 2 * 4 * 3 * 2;
  Buffer<unsigned> seen(std::vector<unsigned>(kAll, 0));
  cudaLaunchConfig_t config{};
  config.gridDim = {2, 3, 2};
  config.blockDim = {4, 3, 2};
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, coordinates, seen.data()));
  CHECK(seen.values(stream) == std::vector<unsigned>(kAll, 1));
}

TEST_CASE("what cannot be launched is refused") {
  emulation::reset();
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 1025;
  CHECK(cudaLaunchKernelEx(&config, coordinates, nullptr) == cudaErrorInvalidConfiguration);
  config.blockDim = 32;
  config.gridDim = 0;
  CHECK(cudaLaunchKernelEx(&config, coordinates, nullptr) == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a kernel of a .cu file runs") {
  emulation::reset();
  Stream stream;
  Buffer<float> values(counting<float>(1000));
  check(emulated_test::scale(values.data(), 2.0f, 999, stream));
  const std::vector<float> got = values.values(stream);
  CHECK(got.front() == 2.0f);
  CHECK(got[998] == 2 * 999.0f);
  CHECK(got[999] == 1000.0f);
}

TEST_CASE("16-bit numbers are rounded once, to nearest even") {
  // Every half but the NaNs comes back; the middle between neighbours goes to the even one.
  for (unsigned bits = 0; bits < 0x7bffu; ++bits) {
    const auto low = static_cast<unsigned short>(bits);
    const double value = __half2float(__ushort_as_half(low));
    const double next = __half2float(__ushort_as_half(static_cast<unsigned short>(bits + 1)));
    const double middle = (value + next) / 2;
    const unsigned even = bits + bits % 2;
    if (__half_as_ushort(__double2half(value)) != bits ||
        __half_as_ushort(__double2half(middle)) != even ||
        __half_as_ushort(__double2half(std::nextafter(middle, next))) != bits + 1 ||
        __half_as_ushort(__double2half(std::nextafter(middle, value))) != bits) {
      FAIL("half " << bits);
    }
  }
  for (unsigned bits = 0; bits < 0x7f7fu; ++bits) {
    const auto low = static_cast<unsigned short>(bits);
    const double value = __bfloat162float(__ushort_as_bfloat16(low));
    const double next =
        __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(bits + 1)));
    const double middle = (value + next) / 2;
    if (__bfloat16_as_ushort(__double2bfloat16(value)) != bits ||
        __bfloat16_as_ushort(__double2bfloat16(middle)) != bits + bits % 2 ||
        __bfloat16_as_ushort(__double2bfloat16(std::nextafter(middle, next))) != bits + 1 ||
        __bfloat16_as_ushort(__double2bfloat16(-std::nextafter(middle, value))) !=
            (bits | 0x8000u)) {
      FAIL("bfloat16 " << bits);
    }
  }
  CHECK(__half_as_ushort(__float2half_rn(1e6f)) == 0x7c00);
  CHECK(__half_as_ushort(__double2half(-65519.99)) == 0xfbff);
  CHECK(__half_as_ushort(__float2half_rn(NAN)) == 0x7fff);
  CHECK(__bfloat16_as_ushort(__double2bfloat16(1e300)) == 0x7f80);
  CHECK(std::isinf(__half2float(__ushort_as_half(0xfc00))));
  CHECK(__hisnan(__ushort_as_half(0x7c01)));
}
