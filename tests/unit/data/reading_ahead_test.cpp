#include <catch2/catch.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <lockstep/data/loader.hpp>

#include "counting.hpp"

namespace ls = lockstep;
using counting::batches;
using counting::Counting;
using counting::Indices;
using counting::samples;
using ls::data::DataLoader;
using ls::data::LoaderOptions;

namespace {

// For what the reading thread does by itself.
template <class Condition>
void wait_until(Condition&& condition) {
  while (!condition()) std::this_thread::yield();
}

}  // namespace

TEST_CASE("An epoch may be left at any batch, and the next one starts afresh") {
  for (const int prefetch : {0, 1, 3})
    for (int stop_at = 1; stop_at <= 10; ++stop_at) {
      const Counting dataset(40);
      DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = 4, .prefetch = prefetch});
      int seen = 0;
      for (const auto& batch : loader.epoch(0)) {
        CHECK(batch.size == 4);
        if (++seen < stop_at) continue;
        // The thread, if any, has read all it may, and waits for room.
        wait_until([&] { return dataset.reads == std::min(seen + prefetch, 10); });
        break;
      }
      CHECK(batches(loader.epoch(0)).front() == Indices{0, 1, 2, 3});
    }
}

TEST_CASE("An epoch outlives its loader, and one that is never begun reads nothing") {
  const Counting dataset(10);
  std::optional<DataLoader> loader;
  loader.emplace(dataset, 0, 1, LoaderOptions{.batch_size_per_rank = 4, .prefetch = 2});
  { const auto never_begun = loader->epoch(0); }
  CHECK(dataset.reads == 0);
  auto epoch = loader->epoch(0);
  auto it = epoch.begin();
  loader.reset();
  auto moved = std::move(epoch);
  ++it;
  CHECK(samples(*it) == Indices{4, 5, 6, 7});
  CHECK(samples(*moved.begin()) == Indices{4, 5, 6, 7});
}

TEST_CASE("What a dataset throws appears in the loop, after the batches before it") {
  for (const int prefetch : {0, 1, 3}) {
    const Counting dataset(40, [](int read) {
      if (read == 3) throw std::out_of_range("the third read fails");
    });
    DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = 4, .prefetch = prefetch});
    auto epoch = loader.epoch(0);
    int seen = 0;
    const auto consume = [&] {
      for (const auto& batch : epoch) {
        seen += batch.size > 0;
        wait_until([&] { return dataset.reads >= std::min(seen + prefetch, 3); });
      }
    };
    CHECK_THROWS_AS(consume(), std::out_of_range);
    CHECK(seen == 2);
    CHECK_NOTHROW(consume());  // the epoch is at its end
    CHECK(seen == 2);
    CHECK(batches(loader.epoch(1)).size() == 10);
  }
}

TEST_CASE("A read that fails before the loop gets there is forgotten when the loop is left") {
  const Counting dataset(40, [](int read) {
    if (read >= 2) throw std::runtime_error("fails");
  });
  DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = 4, .prefetch = 3});
  for (const auto& batch : loader.epoch(0)) {
    CHECK(batch.size == 4);
    wait_until([&] { return dataset.reads == 2; });
    break;
  }
}

TEST_CASE("Reading ahead stays within the number of batches asked for") {
  std::atomic<int> requested = 0;
  std::atomic<int> furthest = 0;
  const Counting dataset(60, [&](int read) { furthest = std::max(+furthest, read - requested); });
  DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = 1, .prefetch = 3});
  auto epoch = loader.epoch(0);
  requested = 1;
  for (auto it = epoch.begin(); it != epoch.end(); ++it) {
    ++requested;  // before the next batch is asked for
    std::this_thread::yield();
  }
  CHECK(furthest <= 3);
  CHECK(dataset.reads == 60);
}

TEST_CASE("The thread that reads ahead takes no signals, and prefetch 0 needs no thread") {
  std::thread::id reader;
  bool blocked = false;
  const Counting dataset(4, [&](int) {
    reader = std::this_thread::get_id();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1;
  });
  batches(DataLoader(dataset, 0, 1, {.prefetch = 1}).epoch(0));
  CHECK(reader != std::this_thread::get_id());
  CHECK(blocked);
  batches(DataLoader(dataset, 0, 1, {.prefetch = 0}).epoch(0));
  CHECK(reader == std::this_thread::get_id());
  CHECK_FALSE(blocked);
}

TEST_CASE("On one core the loader reads without a thread unless it is told to") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  std::thread::id reader;
  const Counting dataset(4, [&](int) { reader = std::this_thread::get_id(); });
  const auto reads_here = [&] {
    batches(DataLoader(dataset, 0, 1, {}).epoch(0));
    return reader == std::this_thread::get_id();
  };
  CHECK(reads_here() == (CPU_COUNT(&before) < 2));

  cpu_set_t one;
  CPU_ZERO(&one);
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  CPU_SET(core, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(reads_here());
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("Several loaders read one dataset at the same time") {
  const Counting dataset(64);
  std::vector<DataLoader> loaders;
  for (int rank = 0; rank < 4; ++rank)
    loaders.emplace_back(dataset, rank, 4,
                         LoaderOptions{.batch_size_per_rank = 2, .shuffle = true, .prefetch = 2});
  std::vector<ls::data::Epoch> epochs;
  for (auto& loader : loaders) epochs.push_back(loader.epoch());
  Indices all;
  std::vector<ls::data::Epoch::iterator> positions;
  for (auto& epoch : epochs) positions.push_back(epoch.begin());
  while (positions.front() != std::default_sentinel)
    for (auto& position : positions) {
      const auto part = samples(*position);
      all.insert(all.end(), part.begin(), part.end());
      ++position;
    }
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(all.size() == 64);
}
