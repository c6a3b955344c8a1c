// What a step costs in MPI calls and threads, counted by wrappers around MPI itself.
#include <catch2/catch.hpp>
#include <filesystem>

#include <lockstep/core/create.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"
#include "distributed/mpi_calls.hpp"

namespace ls = lockstep;

namespace {

int size() { return test_environment().size(); }

std::ptrdiff_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

template <class Model>
ls::Tensor loss_of(Model& model) {
  static const models::Samples samples(8, 0);
  return ls::cross_entropy(model(samples.inputs), samples.labels_of(0, 8));
}

constexpr int kWindows = 3;

/// The calls of three windows of so many micro-batches.
struct Cost {
  mpi_calls::Counts counts;
  std::int64_t collectives = 0;
  std::int64_t bytes = 0;
  std::int64_t buckets = 0;
};
Cost cost_of_windows(std::int64_t micro_batches, ls::SumOrder order) {
  auto model = models::small_network();
  ls::DataParallel replica{
      model, test_environment(), {.bucket_bytes = 300, .first_bucket_bytes = 100, .order = order}};
  ls::optim::Adam adam{replica.parameters()};
  ls::AccumulationWindow window{replica, micro_batches};
  test_environment().ranks().barrier();
  mpi_calls::reset();
  for (std::int64_t i = 0; i < kWindows * micro_batches; ++i)
    if (window.backward(loss_of(replica))) {
      adam.step();
      adam.zero_grad();
    }
  return {mpi_calls::counts(), replica.counters().collectives, replica.counters().bytes_reduced,
          replica.bucket_count()};
}

}  // namespace

TEST_CASE("one rank makes no MPI call in a step, and starts no thread") {
  if (size() > 1) return;
  auto warm_up = models::small_network();
  loss_of(warm_up).backward();
  const std::ptrdiff_t threads = thread_count();

  auto model = models::small_network();
  ls::DataParallel replica{model, test_environment()};
  ls::optim::Adam adam{replica.parameters()};
  mpi_calls::reset();
  for (int step = 0; step < 10; ++step) {
    adam.zero_grad();
    loss_of(replica).backward();
    ls::optim::clip_gradient_norm(replica.parameters(), 1);
    adam.step();
  }
  CHECK(mpi_calls::counts() == mpi_calls::Counts{});
  CHECK(thread_count() == threads);
  CHECK(replica.counters().collectives == 0);
}

TEST_CASE("a window exchanges each bucket once, whatever its number of micro-batches") {
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
    const Cost one = cost_of_windows(1, order);
    CHECK(one.buckets > 1);
    CHECK(one.collectives == (size() > 1 ? kWindows * one.buckets : 0));
    for (const std::int64_t micro_batches : {2, 7}) {
      const Cost many = cost_of_windows(micro_batches, order);
      CHECK(many.collectives == one.collectives);
      CHECK(many.counts.all_reduces == one.counts.all_reduces);
      CHECK(many.counts.messages == one.counts.messages);
      CHECK(many.counts.sent_bytes == one.counts.sent_bytes);
    }
  }
}

TEST_CASE("from three ranks on, a bucket is one call of MPI's all-reduce") {
  if (size() < 3) return;
  const Cost cost = cost_of_windows(1, ls::SumOrder::fastest);
  CHECK(cost.counts.all_reduces == cost.collectives);
  CHECK(cost.counts.messages == 0);
}

TEST_CASE("in rank order all ranks together send 2 (W - 1) times the gradients") {
  const Cost cost = cost_of_windows(1, ls::SumOrder::ranks);
  ls::Tensor sent = ls::tensor<std::int64_t>({cost.counts.sent_bytes}, {1});
  test_environment().ranks().all_reduce(sent).wait();
  CHECK(cost.counts.all_reduces == 0);
  CHECK(sent.item<std::int64_t>() == 2 * (size() - 1) * cost.bytes);
}

TEST_CASE("at two ranks, a bucket is four messages of half of it each, in either order of sums") {
  if (size() != 2) return;
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
    const Cost cost = cost_of_windows(1, order);
    CHECK(cost.counts.all_reduces == 0);
    // Each rank sends the half that the other one folds, receives its own, and the same back.
    CHECK(cost.counts.messages == 4 * cost.collectives);
    CHECK(cost.counts.sent_bytes == cost.bytes);
  }
}

TEST_CASE("at two ranks, four messages per piece of 2 MiB, and each element is sent once") {
  if (size() != 2) return;
  const ls::Communicator& ranks = test_environment().ranks();
  struct Case {
    std::int64_t count;  // of float32: 2 MiB are 524,288 of them
    std::int64_t messages;
  };
  for (const auto& [count, messages] : {Case{0, 0}, Case{1, 2}, Case{2, 4}, Case{1001, 4},
                                        Case{524'288, 4}, Case{524'289, 8}, Case{1'600'000, 16}}) {
    ls::Tensor values = ls::zeros({count});
    mpi_calls::reset();
    ranks.all_reduce(values).wait();
    const mpi_calls::Counts counts = mpi_calls::counts();
    CAPTURE(count);
    CHECK(counts.all_reduces == 0);
    CHECK(counts.messages == messages);
    // Of one element only, one rank sends it and the other one sends the sum.
    CHECK(counts.sent_bytes == count * 4);
  }
}
