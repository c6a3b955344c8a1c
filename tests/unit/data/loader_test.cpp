#include <catch2/catch.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/data/loader.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;
using ls::data::Batch;
using ls::data::DataLoader;
using ls::data::LoaderOptions;
using ls::data::Partition;
using Indices = std::vector<std::int64_t>;

namespace {

// Sample i is the number i. Calls `at_read` in each read, with the number of reads begun.
class Counting : public ls::data::Dataset {
 public:
  explicit Counting(
      std::int64_t size, std::function<void(int)> at_read = [](int) {})
      : size_(size), at_read_(std::move(at_read)) {}
  std::int64_t size() const override { return size_; }
  Batch read(std::span<const std::int64_t> indices) const override {
    at_read_(++reads);
    const auto count = static_cast<std::int64_t>(indices.size());
    return {.inputs = ls::tensor(indices, {count}), .targets = {}, .size = count};
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t size_;
  std::function<void(int)> at_read_;
};

Indices samples(const Batch& batch) { return batch.inputs.to_vector<std::int64_t>(); }

std::vector<Indices> batches(ls::data::Epoch epoch) {
  std::vector<Indices> all;
  for (const auto& batch : epoch) all.push_back(samples(batch));
  CHECK(static_cast<std::int64_t>(all.size()) == epoch.size());
  return all;
}

// For what the reading thread does by itself.
template <class Condition>
void wait_until(Condition&& condition) {
  while (!condition()) std::this_thread::yield();
}

Indices joined(const std::vector<Indices>& parts) {
  Indices all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

TEST_CASE("A loader without shuffling hands out the rank's samples in order") {
  const Counting dataset(7);
  for (const int prefetch : {0, 1, 3}) {
    DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = 3, .prefetch = prefetch});
    CHECK(batches(loader.epoch(0)) == std::vector<Indices>{{0, 1, 2}, {3, 4, 5}, {6}});
    DataLoader second(dataset, 1, 2, {.batch_size_per_rank = 3, .prefetch = prefetch});
    CHECK(batches(second.epoch(0)) == std::vector<Indices>{{1, 3, 5}, {0}});
  }
}

TEST_CASE("Batches are the same whether they are read ahead or not") {
  const Counting dataset(101);
  for (const auto partition : {Partition::padded, Partition::dropped, Partition::exact})
    for (int rank = 0; rank < 3; ++rank) {
      const auto with_prefetch = [&](int prefetch) {
        return LoaderOptions{.batch_size_per_rank = 4,
                             .shuffle = true,
                             .partition = partition,
                             .seed = 9,
                             .prefetch = prefetch};
      };
      DataLoader plain(dataset, rank, 3, with_prefetch(0));
      DataLoader ahead(dataset, rank, 3, with_prefetch(3));
      for (std::int64_t epoch = 0; epoch < 3; ++epoch)
        CHECK(batches(ahead.epoch(epoch)) == batches(plain.epoch(epoch)));
    }
}

TEST_CASE("A loader that is never told an epoch number sees a new, complete order in each epoch") {
  const Counting dataset(22);
  std::vector<DataLoader> loaders;
  for (int rank = 0; rank < 2; ++rank)
    loaders.emplace_back(dataset, rank, 2,
                         LoaderOptions{.batch_size_per_rank = 4, .shuffle = true});
  std::vector<Indices> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto order = joined(batches(loaders[0].epoch()));
    const auto other = joined(batches(loaders[1].epoch()));
    order.insert(order.end(), other.begin(), other.end());
    orders.push_back(order);
    std::sort(order.begin(), order.end());
    Indices all(22);
    std::iota(all.begin(), all.end(), 0);
    CHECK(order == all);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  CHECK(orders[0] != orders[2]);
}

TEST_CASE("Epochs that count up by themselves are those that are numbered from 0") {
  const Counting dataset(22);
  const LoaderOptions options{.batch_size_per_rank = 4, .shuffle = true, .seed = 5};
  DataLoader counting(dataset, 0, 2, options);
  DataLoader numbered(dataset, 0, 2, options);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch)
    CHECK(batches(counting.epoch()) == batches(numbered.epoch(epoch)));
  CHECK(batches(numbered.epoch(1)) != batches(numbered.epoch(2)));
}

TEST_CASE("A dataset smaller than a batch gives one small batch, or none with drop_last") {
  const Counting dataset(3);
  for (const int prefetch : {0, 2}) {
    DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = 4, .prefetch = prefetch});
    CHECK(batches(loader.epoch()) == std::vector<Indices>{{0, 1, 2}});
    DataLoader dropping(dataset, 0, 1,
                        {.batch_size_per_rank = 4, .drop_last = true, .prefetch = prefetch});
    CHECK(dropping.batch_count() == 0);
    CHECK(dropping.sample_count() == 0);
    CHECK(batches(dropping.epoch()).empty());
  }
}

TEST_CASE("A dataset without samples gives empty epochs on every rank") {
  const Counting dataset(0);
  for (const int prefetch : {0, 2})
    for (int rank = 0; rank < 2; ++rank) {
      DataLoader loader(dataset, rank, 2, {.batch_size_per_rank = 4, .prefetch = prefetch});
      CHECK(loader.batch_count() == 0);
      CHECK(batches(loader.epoch()).empty());
      CHECK(dataset.reads == 0);
    }
}

TEST_CASE("drop_last leaves out the last batch only if it is smaller") {
  const Counting dataset(12);
  const auto count = [&](std::int64_t batch_size, bool drop_last) {
    DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = batch_size, .drop_last = drop_last});
    const auto parts = batches(loader.epoch());
    CHECK(loader.sample_count() == static_cast<std::int64_t>(joined(parts).size()));
    CHECK(loader.batch_count() == static_cast<std::int64_t>(parts.size()));
    return parts.size();
  };
  CHECK(count(4, true) == 3);
  CHECK(count(4, false) == 3);
  CHECK(count(5, true) == 2);
  CHECK(count(5, false) == 3);
}

TEST_CASE("With equal partitions all ranks have the same number of batches") {
  for (std::int64_t size = 0; size <= 20; ++size)
    for (const auto partition : {Partition::padded, Partition::dropped}) {
      const Counting dataset(size);
      const LoaderOptions options{.batch_size_per_rank = 2, .partition = partition};
      DataLoader first(dataset, 0, 3, options);
      for (int rank = 1; rank < 3; ++rank)
        CHECK(DataLoader(dataset, rank, 3, options).batch_count() == first.batch_count());
    }
}

TEST_CASE("Batches that are kept hold their data after the loop has gone on") {
  const Counting dataset(100);
  for (const int prefetch : {0, 3}) {
    DataLoader loader(dataset, 0, 1, {.batch_size_per_rank = 8, .prefetch = prefetch});
    std::vector<Batch> kept;
    {
      auto epoch = loader.epoch(0);
      for (const auto& batch : epoch) kept.push_back(batch);
    }
    std::vector<Indices> values;
    for (const auto& batch : kept) values.push_back(samples(batch));
    Indices all(100);
    std::iota(all.begin(), all.end(), 0);
    CHECK(joined(values) == all);
  }
}

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

TEST_CASE("A batch size that is not positive and a negative prefetch are refused") {
  const Counting dataset(4);
  CHECK_THROWS_AS(DataLoader(dataset, 0, 1, {.batch_size_per_rank = 0}), ls::InvalidUsage);
  CHECK_THROWS_WITH(DataLoader(dataset, 0, 1, {.batch_size_per_rank = -3}), Contains("-3"));
  CHECK_THROWS_AS(DataLoader(dataset, 0, 1, {.prefetch = -2}), ls::InvalidUsage);
  CHECK_THROWS_AS(DataLoader(dataset, 2, 2, {}), ls::InvalidUsage);
}
