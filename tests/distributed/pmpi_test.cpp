// What a step costs in MPI calls and threads, counted by wrappers around MPI itself.
#include <catch2/catch.hpp>
#include <filesystem>

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

/// The calls of three windows of so many micro-batches.
struct Cost {
  mpi_calls::Counts counts;
  std::int64_t collectives = 0;
  std::int64_t buckets = 0;
};
Cost cost_of_windows(std::int64_t micro_batches, ls::SumOrder order) {
  constexpr int kWindows = 3;
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
  return {mpi_calls::counts(), replica.counters().collectives, replica.bucket_count()};
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

TEST_CASE("a window makes one all-reduce per bucket, whatever its number of micro-batches") {
  for (const std::int64_t micro_batches : {1, 2, 7}) {
    const Cost cost = cost_of_windows(micro_batches, ls::SumOrder::fastest);
    CHECK(cost.buckets > 1);
    CHECK(cost.collectives == (size() > 1 ? 3 * cost.buckets : 0));
    CHECK(cost.counts.all_reduces == cost.collectives);
    CHECK(cost.counts.messages == 0);
  }
}

TEST_CASE("in rank order too, the messages do not depend on the number of micro-batches") {
  const Cost one = cost_of_windows(1, ls::SumOrder::ranks);
  const Cost seven = cost_of_windows(7, ls::SumOrder::ranks);
  CHECK(one.collectives == seven.collectives);
  CHECK(one.counts.all_reduces == seven.counts.all_reduces);
  CHECK(one.counts.messages == seven.counts.messages);
}
