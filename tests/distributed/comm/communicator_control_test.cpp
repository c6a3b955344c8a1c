// The control plane, groups of their own, and calls from several threads.
#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <thread>

#include "support/test_environment.hpp"
#include "values.hpp"

using namespace test;

TEST_CASE("gather_bytes brings the bytes of every rank, whatever their lengths") {
  const ls::Communicator& ranks = test_environment().ranks();
  const auto text = [](int rank, std::size_t length) {
    return std::string(length * static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
  };
  for (const std::size_t length : {0, 1, 10, 471, 472, 473, 5000, 300'000}) {
    const auto all = ranks.gather_bytes(text(ranks.rank(), length));
    REQUIRE(all.size() == static_cast<std::size_t>(ranks.size()));
    for (int rank = 0; rank < ranks.size(); ++rank)
      REQUIRE(all[static_cast<std::size_t>(rank)] == text(rank, length));
  }
}

TEST_CASE("agree is true only if it was true on every rank") {
  const ls::Communicator& ranks = test_environment().ranks();
  REQUIRE(ranks.agree(true));
  REQUIRE_FALSE(ranks.agree(false));
  for (int rank = 0; rank < ranks.size(); ++rank) REQUIRE_FALSE(ranks.agree(ranks.rank() != rank));
}

TEST_CASE("split groups by color and orders by key") {
  const ls::Communicator& ranks = test_environment().ranks();
  const int rank = ranks.rank();
  const int size = ranks.size();

  const ls::Communicator reversed = ranks.split(0, -rank);
  REQUIRE(reversed.size() == size);
  REQUIRE(reversed.rank() == size - 1 - rank);
  ls::Tensor from_first = ls::full({3}, rank);
  reversed.broadcast(from_first, 0).wait();
  REQUIRE(numbers(from_first)[0] == size - 1);

  const ls::Communicator parity = ranks.split(rank % 2);
  REQUIRE(parity.size() == (size + 1 - rank % 2) / 2);
  REQUIRE(parity.rank() == rank / 2);
  ls::Tensor sum = ls::full({5}, rank);
  parity.all_reduce(sum).wait();
  double wanted = 0;
  for (int other = rank % 2; other < size; other += 2) wanted += other;
  REQUIRE(numbers(sum)[4] == wanted);

  const ls::Communicator alone = ranks.split(rank == 0 ? -1 : 3);
  REQUIRE(alone.size() == (rank == 0 ? 1 : std::max(1, size - 1)));
  REQUIRE(alone.timeout() == ranks.timeout());
}

TEST_CASE("a duplicate has traffic of its own") {
  const ls::Communicator& ranks = test_environment().ranks();
  const ls::Communicator other = ranks.duplicate();
  const ls::Communicator third = other.duplicate();
  // The ranks call the communicators in different orders; on each one the order is the same.
  std::vector<const ls::Communicator*> order = {&ranks, &other, &third};
  std::rotate(order.begin(), order.begin() + ranks.rank() % 3, order.end());
  const auto number = [&](const ls::Communicator* which) {
    return which == &ranks ? 1.0 : which == &other ? 10.0 : 100.0;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<ls::Tensor> tensors;
    std::vector<ls::Work> works;
    for (const ls::Communicator* which : order) {
      tensors.push_back(ls::full({50 + round}, number(which)));
      works.push_back(which->all_reduce(tensors.back()));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      works[i].wait();
      REQUIRE(numbers(tensors[i])[0] == ranks.size() * number(order[i]));
    }
  }
}

TEST_CASE("threads may use one communicator each at the same time") {
  const ls::Communicator& ranks = test_environment().ranks();
  const ls::Communicator other = ranks.duplicate();
  const auto work = [](const ls::Communicator& own, double value, bool* right) {
    *right = true;
    for (int round = 0; round < 50; ++round) {
      ls::Tensor values = ls::full({1000}, value);
      own.all_reduce(values).wait();
      own.barrier();
      *right = *right && numbers(values)[999] == own.size() * value;
    }
  };
  bool right_there = false, right_here = false;
  std::thread thread([&] { work(other, 3, &right_there); });
  work(ranks, 2, &right_here);
  thread.join();
  REQUIRE(right_here);
  REQUIRE(right_there);
}

TEST_CASE("work goes on when nobody holds its handle, and keeps its memory until it is done") {
  const ls::Communicator& ranks = test_environment().ranks();
  const auto memory = std::make_shared<std::vector<float>>(10, 1.0F);
  std::weak_ptr<const std::vector<float>> held;
  {
    auto owner = std::make_shared<std::vector<float>*>(memory.get());
    const std::shared_ptr<const std::vector<float>> alias(owner, memory.get());
    held = alias;
    const ls::Communicator temporary = ranks.duplicate();
    temporary.all_reduce(ls::borrow(memory->data(), {10}, ls::Device::cpu(), alias));
  }
  while (!held.expired()) ranks.poll();
  ranks.poll();  // expired() alone orders nothing after what the other thread wrote
  REQUIRE(*memory == std::vector<float>(10, static_cast<float>(ranks.size())));
}

TEST_CASE("poll and set_step may be called at any time") {
  const ls::Communicator& ranks = test_environment().ranks();
  ranks.set_step(7);
  ranks.poll();
  ls::Tensor values = ls::full({10}, 1);
  ls::Work work = ranks.all_reduce(values);
  ranks.poll();
  work.wait();
  work.wait();
  REQUIRE(work.done());
  REQUIRE(ls::Work().done());
}
