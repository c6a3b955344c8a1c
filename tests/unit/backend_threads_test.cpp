// Threads change no bits, and devices that are not there are refused.
#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>

#include <lockstep/core/error.hpp>
#include "backend/cpu/thread_pool.hpp"
#include "backend_support.hpp"

using namespace backend_test;

namespace {

struct ThreadCount {
  explicit ThreadCount(int count) { set_cpu_thread_count(count); }
  ~ThreadCount() { set_cpu_thread_count(1); }
};

/// A bit of everything, over ranges that are worth sharing.
std::vector<float> large_operations() {
  const std::int64_t count = 1'000'003;
  Backend cpu = cpu_backend();
  auto w = random_values<float>(count, 1);
  std::vector<float> y(w.size());
  cpu.random.normal(DType::float32, {7, 0, 0}, y.data(), count, kQueue);
  const AdamSegment segment{5, count, 1e-2, 0.9, 0.999, 1e-8, 0, 0, 1};
  std::vector<float> m(w.size());
  std::vector<float> v(w.size());
  cpu.optimizer.adam(DType::float32, {w.data(), y.data(), m.data(), v.data(), 1}, {&segment, 1},
                     kQueue);
  cpu.elementwise.unary(UnaryOperation::relu, DType::float32, y.data(), {}, y.data(), count,
                        kQueue);
  cpu.random.uniform(DType::float32, {7, 1, 0}, 0, 1, m.data(), count, kQueue);
  Broadcast rows;
  rows.axes = 2;
  rows.sizes = {1000, 1000};
  rows.a_strides = {1000, 1};
  rows.b_strides = {0, 1};
  cpu.elementwise.binary(BinaryOperation::mul, DType::float32, rows, w.data(), m.data(), v.data(),
                         kQueue);
  cpu.reduction.sum(DType::float32, w.data(), 1, count, 1, 1, false, &y[0], kQueue);
  cpu.reduction.sum(DType::float32, w.data(), 1, 1000, 1000, 1, false, &y[1], kQueue);
  cpu.reduction.sum(DType::float32, w.data(), 1000, 1000, 1, 1, false, &y[2000], kQueue);
  const std::vector<std::int64_t> labels(1000, 3);
  cpu.loss.cross_entropy(DType::float32, {1000, 1000}, w.data(), labels.data(), &y[4000], w.data(),
                         &y[4001], kQueue);
  double squares = 0;
  cpu.reduction.add_sum_of_squares(DType::float32, m.data(), count, &squares, kQueue);
  std::memcpy(&y[6000], &squares, sizeof(squares));
  w.insert(w.end(), y.begin(), y.end());
  w.insert(w.end(), m.begin(), m.end());
  w.insert(w.end(), v.begin(), v.end());
  return w;
}

}  // namespace

TEST_CASE("any number of threads gives the bits of one") {
  CHECK(cpu_thread_count() == 1);
  const auto expected = large_operations();
  for (const int count : {2, 3, 7}) {
    const ThreadCount threads(count);
    CHECK(cpu_thread_count() == count);
    CHECK(same_bits(large_operations(), expected));
  }
}

TEST_CASE("tasks run once each, on more than one thread") {
  const ThreadCount threads(3);
  std::vector<std::atomic<int>> runs(200);
  std::atomic<int> others{0};
  const auto caller = std::this_thread::get_id();
  cpu::for_each_task(200, [&](std::int64_t task) {
    ++runs[static_cast<std::size_t>(task)];
    if (std::this_thread::get_id() != caller) ++others;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  for (const auto& count : runs) CHECK(count == 1);
  CHECK(others > 0);
}

TEST_CASE("loops within loops and loops of several threads at once are all completed") {
  const ThreadCount threads(2);
  std::atomic<int> runs{0};
  const auto nested = [&] {
    for (int repetition = 0; repetition < 20; ++repetition)
      cpu::for_each_task(
          10, [&](std::int64_t) { cpu::for_each_task(10, [&](std::int64_t) { ++runs; }); });
  };
  std::thread other(nested);
  nested();
  other.join();
  CHECK(runs == 4000);
}

TEST_CASE("one thread is the default, and starts none") {
  CHECK(cpu_thread_count() == 1);
  const auto caller = std::this_thread::get_id();
  bool here = true;
  cpu::for_each_task(100,
                     [&](std::int64_t) { here = here && std::this_thread::get_id() == caller; });
  CHECK(here);
}

TEST_CASE("fewer threads than one are refused") {
  CHECK_THROWS_AS(set_cpu_thread_count(0), InvalidUsage);
  CHECK_THROWS_WITH(set_cpu_thread_count(-3), Catch::Matchers::Contains("-3"));
}

TEST_CASE("the backend of the CPU is always there; that of CUDA says what to do without it") {
  CHECK(&backend_for(Device::cpu()) == &cpu_backend());
  CHECK(current_queue(Device::cpu()).stream == nullptr);
  if (cuda_device_count() > 0) return;
  CHECK_THROWS_AS(backend_for(Device::cuda(1)), BackendUnavailable);
  CHECK_THROWS_AS(current_queue(Device::cuda(1)), BackendUnavailable);
  CHECK_THROWS_WITH(backend_for(Device::cuda(1)), Catch::Matchers::Contains("cuda:1"));
}
