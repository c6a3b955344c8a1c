// W ranks with B samples each train as one rank with W B samples does, whatever the buckets.
#include <catch2/catch.hpp>

#include <lockstep/optim/adam.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;

namespace {

constexpr std::int64_t kRowsPerRank = 4;
constexpr int kSteps = 20;

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

using Network = decltype(models::small_network());

Network fresh_network() {
  test_environment().seed(4);
  return models::small_network();
}

/// Trains on rows [first, first + count) of each step's batch.
template <class Model>
void train(Model& model, const ls::ParameterList& parameters, std::int64_t first,
           std::int64_t count) {
  ls::optim::Adam adam{parameters, {.learning_rate = 0.01}};
  for (int step = 0; step < kSteps; ++step) {
    const models::Samples samples(kRowsPerRank * size(), static_cast<std::uint64_t>(step));
    adam.zero_grad();
    ls::cross_entropy(model(samples.rows(first, count)), samples.labels_of(first, count))
        .backward();
    adam.step();
  }
}

std::vector<double> all_weights(const ls::ParameterList& parameters) {
  std::vector<double> weights;
  for (const auto& [name, parameter] : parameters)
    for (const double value : parameter.value().to_vector<double>()) weights.push_back(value);
  return weights;
}

std::vector<double> train_on_ranks(const ls::DataParallelOptions& options) {
  Network model = fresh_network();
  ls::DataParallel replica{model, test_environment(), options};
  train(replica, replica.parameters(), rank() * kRowsPerRank, kRowsPerRank);
  CHECK(models::same_on_all_ranks(models::weight_bytes(replica.parameters())));
  return all_weights(replica.parameters());
}

std::vector<double> train_alone() {
  Network model = fresh_network();
  train(model, ls::parameters(model), 0, kRowsPerRank * size());
  return all_weights(ls::parameters(model));
}

double largest_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]) / (1e-3 + std::abs(b[i])));
  return largest;
}

}  // namespace

TEST_CASE("ranks with a part of the batch train as one rank with all of it") {
  const std::vector<double> alone = train_alone();
  CHECK(largest_relative_difference(
            alone, all_weights(ls::parameters(*std::make_unique<Network>(fresh_network())))) >
        0.1);  // something was learned
  CHECK(largest_relative_difference(train_on_ranks({}), alone) < 1e-6);
}

TEST_CASE("the size of the buckets does not change the result") {
  const std::vector<double> alone = train_alone();
  const std::vector<double> in_rank_order = train_on_ranks({.order = ls::SumOrder::ranks});
  for (const std::int64_t bytes : {1L, 64L, 65L, 200L, 1000L, 1L << 20}) {
    INFO("buckets of " << bytes << " bytes");
    const ls::DataParallelOptions options{.bucket_bytes = bytes, .first_bucket_bytes = bytes};
    CHECK(largest_relative_difference(train_on_ranks(options), alone) < 1e-6);
    CHECK(train_on_ranks(
              {.bucket_bytes = bytes, .first_bucket_bytes = bytes, .order = ls::SumOrder::ranks}) ==
          in_rank_order);
  }
}

TEST_CASE("buckets hold whole gradients, from one each to all in one") {
  Network model = fresh_network();
  ls::DataParallel one_each{
      model, test_environment(), {.bucket_bytes = 1, .first_bucket_bytes = 1}};
  CHECK(one_each.bucket_count() == 6);
  Network other = fresh_network();
  ls::DataParallel all_in_one{other, test_environment()};
  CHECK(all_in_one.bucket_count() == 1);
}

TEST_CASE("accumulated micro-batches train as one batch does") {
  Network model = fresh_network();
  ls::DataParallel replica{model, test_environment()};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 0.01}};
  ls::AccumulationWindow window{replica, kRowsPerRank};
  for (int step = 0; step < kSteps; ++step) {
    const models::Samples samples(kRowsPerRank * size(), static_cast<std::uint64_t>(step));
    for (std::int64_t i = 0; i < kRowsPerRank; ++i) {
      const std::int64_t row = rank() * kRowsPerRank + i;
      const ls::Tensor loss =
          ls::cross_entropy(replica(samples.rows(row, 1)), samples.labels_of(row, 1));
      if (window.backward(loss)) {
        adam.step();
        adam.zero_grad();
      }
    }
  }
  CHECK(largest_relative_difference(all_weights(replica.parameters()), train_alone()) < 1e-6);
}

TEST_CASE("unequal numbers of samples, weighted, train as one rank with all of them") {
  // Rank r has r samples; rank 0 has none. A single rank has one.
  const std::int64_t own = size() == 1 ? 1 : rank();
  const std::int64_t first = size() == 1 ? 0 : rank() * (rank() - 1) / 2;
  const std::int64_t all = size() == 1 ? 1 : size() * (size() - 1) / 2;
  Network model = fresh_network();
  Network whole = fresh_network();
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::weighted}};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 0.01}};
  ls::optim::Adam alone{ls::parameters(whole), {.learning_rate = 0.01}};
  for (int step = 0; step < kSteps; ++step) {
    const models::Samples samples(all, static_cast<std::uint64_t>(step));
    adam.zero_grad();
    replica.set_sample_count(static_cast<double>(own));
    if (own == 0)
      replica.synchronize();
    else
      ls::cross_entropy(replica(samples.rows(first, own)), samples.labels_of(first, own))
          .backward();
    adam.step();
    alone.zero_grad();
    ls::cross_entropy(whole(samples.rows(0, all)), samples.labels_of(0, all)).backward();
    alone.step();
  }
  CHECK(largest_relative_difference(all_weights(replica.parameters()),
                                    all_weights(ls::parameters(whole))) < 1e-6);
}
