// Steps that are recorded while the program has streams, and threads, of its own.
#include <catch2/catch.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include <lockstep/interop/cuda.hpp>
#include <lockstep/lockstep.hpp>

#include "interop/orders.hpp"
#include "interop/program.hpp"

namespace ls = lockstep;

namespace {

const ls::Device kDevice = ls::Device::cuda();

/// Twice its input.
ls::CapturedStep<ls::Tensor(ls::Tensor)> doubling_step() {
  return ls::CapturedStep<ls::Tensor(ls::Tensor)>{[](const ls::Tensor& x) { return x + x; }};
}

void check_doubles(ls::CapturedStep<ls::Tensor(ls::Tensor)>& step, int i) {
  const ls::Tensor x = ls::full({300}, i, ls::DType::float32, kDevice);
  CHECK(step(x).to_vector() == std::vector<float>(300, static_cast<float>(2 * i)));
}

}  // namespace

TEST_CASE("a step is recorded under any stream, and replayed on another") {
  const program::Stream own;
  for (const cudaStream_t stream : {cudaStream_t{}, static_cast<cudaStream_t>(own)}) {
    auto step = doubling_step();
    {
      const ls::cuda::StreamScope scope{stream};
      for (int i = 0; i < 6; ++i) check_doubles(step, i);
    }
    check_doubles(step, 7);
    CHECK_FALSE(step.refused());
    CHECK(step.replay_count() == 5);
  }
}

TEST_CASE("what another thread does during a recording is its own") {
  ls::Tensor total = ls::zeros({50}, ls::DType::float32, kDevice);
  const ls::Tensor one = ls::full({50}, 1, ls::DType::float32, kDevice);
  ls::CapturedStep step{[&](const ls::Tensor& x) {
    std::thread([&] {
      total.copy_from(total + one);
      CHECK(total.to_vector()[49] >= 1);
    }).join();
    return x + x;
  }};
  for (int i = 0; i < 8; ++i) {
    const ls::Tensor x = ls::full({50}, i, ls::DType::float32, kDevice);
    CHECK(step(x).to_vector()[0] == 2.0F * static_cast<float>(i));
  }
  CHECK_FALSE(step.refused());
  CHECK(total.to_vector() == std::vector<float>(50, 3));  // two calls as they are, and a recording
}

TEST_CASE("memory of the host may change as soon as it was copied, however much it is") {
  constexpr std::int64_t kCount = 18 * 1024 * 1024 + 3;  // beyond four pieces of a transfer
  for (std::uint64_t seed = 0; seed < std::min<std::uint64_t>(3, orders::count()); ++seed) {
    orders::choose(seed);
    float* memory = nullptr;
    REQUIRE(cudaMallocHost(reinterpret_cast<void**>(&memory), kCount * sizeof(float)) ==
            cudaSuccess);
    std::fill(memory, memory + kCount, 1.0F);
    const ls::Tensor copy = ls::borrow(memory, {kCount}).to(kDevice);
    std::fill(memory, memory + kCount, -1.0F);
    CHECK(ls::mean(copy).item<double>() == 1);
    REQUIRE(cudaFreeHost(memory) == cudaSuccess);
  }
  orders::choose(0);
}

TEST_CASE("the stream that is another in each thread is refused") {
  CHECK_THROWS_AS(ls::cuda::StreamScope(cudaStreamPerThread), ls::InvalidUsage);
  auto step = doubling_step();
  check_doubles(step, 3);  // nothing of it is left
}
