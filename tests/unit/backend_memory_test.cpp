#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"
#include "backend/cpu/cpu_memory.hpp"
#include "backend/cpu/poison.hpp"

using namespace lockstep;
using namespace lockstep::backend;
using backend::cpu::CpuMemory;

TEST_CASE("memory is aligned to 64 bytes and can be written to its last byte") {
  CpuMemory memory;
  for (const std::int64_t size : {1, 63, 64, 65, 1000, 1025, 100'000, 5'000'000}) {
    void* pointer = memory.allocate(size, {});
    CHECK(reinterpret_cast<std::uintptr_t>(pointer) % 64 == 0);
    std::memset(pointer, 1, static_cast<std::size_t>(size));
    memory.release(pointer, size, {});
  }
  memory.trim();
}

TEST_CASE("no bytes are a null pointer, and a null pointer may be released") {
  CpuMemory memory;
  CHECK(memory.allocate(0, {}) == nullptr);
  memory.release(nullptr, 0, {});
  CHECK(memory.counters().system_requests == 0);
}

TEST_CASE("a size class wastes at most a sixteenth above 1 KiB") {
  std::size_t last_index = 0;
  for (std::int64_t size = 1; size < 5'000'000'000; size += 1 + size / 50) {
    const auto block = lockstep::backend::size_class(size);
    CHECK(block.byte_count >= size);
    CHECK(block.byte_count - size < (size > 1024 ? size / 16 + 64 : 64));
    CHECK(block.index >= last_index);
    CHECK(lockstep::backend::size_class(block.byte_count).index == block.index);
    CHECK(lockstep::backend::size_class(block.byte_count + 1).index == block.index + 1);
    last_index = block.index;
  }
  CHECK(lockstep::backend::size_class(40'000'000).byte_count < 42'000'000);
}

TEST_CASE("a step that allocates as the last one did asks the system for nothing") {
  CpuMemory memory;
  const auto step = [&] {
    std::vector<void*> pointers;
    for (std::int64_t size = 10; size < 10'000'000; size *= 3)
      for (int i = 0; i < 3; ++i) pointers.push_back(memory.allocate(size, {}));
    std::size_t next = 0;
    for (std::int64_t size = 10; size < 10'000'000; size *= 3)
      for (int i = 0; i < 3; ++i) memory.release(pointers[next++], size, {});
  };
  step();
  const MemoryCounters after_first = memory.counters();
  CHECK(after_first.bytes_in_use == 0);
  CHECK(after_first.bytes_cached > 0);
  for (int i = 0; i < 5; ++i) step();
  CHECK(memory.counters().system_requests == after_first.system_requests);
  CHECK(memory.counters().bytes_cached == after_first.bytes_cached);
  memory.trim();
  CHECK(memory.counters().bytes_cached == 0);
}

TEST_CASE("trim keeps what is handed out, and the memory goes on working") {
  CpuMemory memory;
  auto* kept = static_cast<char*>(memory.allocate(1000, {}));
  void* given_back = memory.allocate(1000, {});
  std::memset(kept, 7, 1000);
  memory.release(given_back, 1000, {});
  memory.trim();
  CHECK(memory.counters().bytes_in_use == 1024);
  CHECK(kept[999] == 7);
  memory.release(kept, 1000, {});
  void* again = memory.allocate(1000, {});
  CHECK(again == kept);
  memory.release(again, 1000, {});
  memory.trim();
}

TEST_CASE("sizes that cannot be had are refused and named") {
  CpuMemory memory;
  CHECK_THROWS_AS(memory.allocate(-1, {}), DeviceError);
  CHECK_THROWS_WITH(memory.allocate(std::numeric_limits<std::int64_t>::max(), {}),
                    Catch::Matchers::Contains("9223372036854775807 bytes"));
}

TEST_CASE("threads may allocate and release at the same time, also each other's blocks") {
  CpuMemory memory;
  std::vector<std::thread> threads;
  std::vector<std::vector<void*>> left(4);
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2000; ++i) {
        const std::int64_t size = 64 * (1 + (i * 7 + thread) % 40);
        auto* pointer = static_cast<char*>(memory.allocate(size, {}));
        pointer[0] = pointer[size - 1] = static_cast<char>(thread);
        memory.release(pointer, size, {});
        if (i % 100 == 0)
          left[static_cast<std::size_t>(thread)].push_back(memory.allocate(640, {}));
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& pointers : left)
    for (void* pointer : pointers) memory.release(pointer, 640, {});
  CHECK(memory.counters().bytes_in_use == 0);
  memory.trim();
}

TEST_CASE("copies and zeros have the length asked for") {
  Memory& memory = cpu_backend().memory;
  for (const std::int64_t size : {0, 1, 65, 1'000'003}) {
    std::vector<unsigned char> a(static_cast<std::size_t>(size) + 1, 1);
    std::vector<unsigned char> b(static_cast<std::size_t>(size) + 1, 2);
    memory.copy(b.data(), a.data(), size, {});
    CHECK(std::count(b.begin(), b.end(), 1) == size);
    CHECK(b.back() == 2);
    memory.set_zero(b.data(), size, {});
    CHECK(std::count(b.begin(), b.end(), 0) == size);
    memory.copy_from_host(b.data(), a.data(), size, {});
    memory.copy_to_host(a.data(), b.data(), size, {});
    CHECK(b.back() == 2);
  }
}

#ifdef LOCKSTEP_HAS_ASAN
TEST_CASE("a block that is cached, and the rest of one in use, are poisoned") {
  CpuMemory memory;
  auto* pointer = static_cast<char*>(memory.allocate(1000, {}));
  CHECK(__asan_address_is_poisoned(pointer + 999) == 0);
  CHECK(__asan_address_is_poisoned(pointer + 1000) != 0);
  memory.release(pointer, 1000, {});
  CHECK(__asan_address_is_poisoned(pointer) != 0);
  memory.trim();
}
#endif
