#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/data/loader.hpp>

#include "counting.hpp"

namespace ls = lockstep;
using Catch::Matchers::Contains;
using counting::batches;
using counting::Counting;
using counting::Indices;
using counting::joined;
using counting::samples;
using ls::data::Batch;
using ls::data::DataLoader;
using ls::data::LoaderOptions;
using ls::data::Partition;

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

TEST_CASE("A batch size that is not positive and a negative prefetch are refused") {
  const Counting dataset(4);
  CHECK_THROWS_AS(DataLoader(dataset, 0, 1, {.batch_size_per_rank = 0}), ls::InvalidUsage);
  CHECK_THROWS_WITH(DataLoader(dataset, 0, 1, {.batch_size_per_rank = -3}), Contains("-3"));
  CHECK_THROWS_AS(DataLoader(dataset, 0, 1, {.prefetch = -2}), ls::InvalidUsage);
  CHECK_THROWS_AS(DataLoader(dataset, 2, 2, {}), ls::InvalidUsage);
}
