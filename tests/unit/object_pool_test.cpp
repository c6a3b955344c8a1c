// Memory of small objects: what is kept, and that a step asks the system for nothing.
#include "core/object_pool.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "backend/backend.hpp"

namespace ls = lockstep;
using ls::detail::kPoolKeeps;
using ls::detail::pool_allocate;
using ls::detail::pool_release;

namespace {
std::atomic<std::int64_t> asked{0}, given_back{0};
}

void* operator new(std::size_t byte_count) {
  ++asked;
  if (void* pointer = std::malloc(byte_count)) return pointer;
  throw std::bad_alloc();
}
void* operator new(std::size_t byte_count, const std::nothrow_t&) noexcept {
  ++asked;
  return std::malloc(byte_count);
}
void operator delete(void* pointer) noexcept {
  if (pointer != nullptr) ++given_back;
  std::free(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept { operator delete(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { operator delete(pointer); }

namespace {

/// How often `call` asks the system for memory.
template <class Call>
std::int64_t requests_of(const Call& call) {
  auto& memory = ls::backend::backend_for(ls::Device::cpu()).memory;
  const std::int64_t before = asked + memory.counters().system_requests;
  call();
  return asked + memory.counters().system_requests - before;
}

}  // namespace

TEST_CASE("what a thread released it gets again for the same size") {
  if (!kPoolKeeps) return;
  for (const std::size_t byte_count : {1U, 64U, 65U, 1000U, 5000U, 1'000'000U}) {
    void* first = pool_allocate(byte_count);
    void* second = pool_allocate(byte_count);
    CHECK(first != second);
    std::memset(first, 1, byte_count);
    std::memset(second, 2, byte_count);
    pool_release(first, byte_count);
    pool_release(second, byte_count);
    void* again[2] = {};
    CHECK(requests_of([&] {
            for (void*& block : again) block = pool_allocate(byte_count);
          }) == 0);
    CHECK(again[0] == second);
    CHECK(again[1] == first);
    pool_release(first, byte_count);
    pool_release(second, byte_count);
  }
}

TEST_CASE("a thread that releases what others allocate keeps no more than 16 MiB") {
  constexpr std::size_t kBytes = 512 * 1024;
  std::vector<void*> blocks;
  std::thread([&] {
    for (int i = 0; i < 100; ++i) blocks.push_back(pool_allocate(kBytes));
  }).join();
  std::int64_t before = 0, kept = 0;
  std::thread([&] {
    before = given_back;
    for (void* block : blocks) pool_release(block, kBytes);
    kept = 100 - (given_back - before);
  }).join();
  CHECK(kept <= 32);
  CHECK(kept >= (kPoolKeeps ? 30 : 0));
  CHECK(given_back - before >= 100);  // the thread ended, and with it what it kept
}

TEST_CASE("blocks larger than a MiB are not kept") {
  constexpr std::size_t kBytes = 2 * 1024 * 1024;
  CHECK(requests_of([] { pool_release(pool_allocate(kBytes), kBytes); }) == 1);
  CHECK(requests_of([] { pool_release(pool_allocate(kBytes), kBytes); }) == 1);
}

TEST_CASE("a step of a chain of operations asks the system for no memory") {
  auto x = ls::full({2, 4}, 0.5).set_requires_grad(true);
  auto scale = ls::full({4}, 0.25).set_requires_grad(true);
  const auto step = [&] {
    x.zero_gradient();
    scale.zero_gradient();
    ls::Tensor value = x;
    for (int i = 0; i < 50; ++i) value = ls::relu(value * scale + 0.5) * 2.0;
    ls::sum(value).backward();
  };
  for (int i = 0; i < 3; ++i) step();
  const std::int64_t requests = requests_of(step);
  CHECK(requests == (kPoolKeeps ? 0 : requests));
}

TEST_CASE("a training step of a model asks the system for no memory") {
  ls::nn::Sequential model{ls::nn::Linear{6, 5}, ls::nn::ReLU{}, ls::nn::Linear{5, 3}};
  const auto inputs = ls::randn({4, 6});
  const auto parameters = ls::parameters(model);
  const auto step = [&] {
    for (const auto& named : parameters) ls::Tensor(named.parameter.value()).zero_gradient();
    ls::mean(model(inputs)).backward();
  };
  for (int i = 0; i < 3; ++i) step();
  const std::int64_t requests = requests_of(step);
  CHECK(requests == (kPoolKeeps ? 0 : requests));
}
