// Averages of a program's own numbers by name, and evaluation with uneven batches.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/no_grad.hpp>
#include <lockstep/data/loader.hpp>
#include <lockstep/nn/mlp.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/parallel/data_parallel.hpp>
#include <lockstep/parallel/metrics.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

auto average(const std::vector<ls::Metric>& own) {
  return ls::average_metrics(test_environment().ranks(), own);
}

}  // namespace

TEST_CASE("metrics are averaged by their weights, and a weight of 0 does not count") {
  // Rank r has r samples of the value 2 r + 1.
  const auto metrics = average(
      {{"loss", rank() == 0 ? kNan : 2 * rank() + 1.0, rank() * 1.0}, {"steps", 7.0 + rank()}});
  CHECK(metrics.size() == 2);
  double sum = 0;
  double weight = 0;
  for (int r = 1; r < size(); ++r) {
    sum += r * (2 * r + 1.0);
    weight += r;
  }
  CHECK(metrics.at("loss").weight == weight);
  if (size() == 1)
    CHECK(std::isnan(metrics.at("loss").mean));
  else
    CHECK(metrics.at("loss").mean == Approx(sum / weight));
  CHECK(metrics.at("steps").mean == 7 + (size() - 1) / 2.0);
  CHECK(metrics.at("steps").weight == size());
}

TEST_CASE("a NaN of a rank with samples is seen on all ranks") {
  const bool last = rank() + 1 == size();
  CHECK(std::isnan(average({{"loss", last ? kNan : 1.0, 2}}).at("loss").mean));
}

TEST_CASE("names come in any order, are any text, and may be none") {
  const std::vector<ls::Metric> ordered{{"a\nb", 1}, {"", 2}, {std::string("\0x", 2), 3}};
  const std::vector<ls::Metric> reversed(ordered.rbegin(), ordered.rend());
  const auto metrics = average(rank() % 2 == 0 ? ordered : reversed);
  CHECK(metrics.size() == 3);
  CHECK(metrics.at("a\nb").mean == 1);
  CHECK(metrics.at("").mean == 2);
  CHECK(metrics.at(std::string("\0x", 2)).mean == 3);
  CHECK(average({}).empty());
}

TEST_CASE("every rank gets the same bits") {
  const double mean = average({{"loss", 1.0 / (rank() + 3), 0.1 + rank()}}).at("loss").mean;
  std::string bytes(sizeof mean, '\0');
  std::memcpy(bytes.data(), &mean, sizeof mean);
  CHECK(models::same_on_all_ranks(bytes));
}

TEST_CASE("names that differ are an error on all ranks, which names one") {
  const bool last = rank() + 1 == size();
  const std::string other = "rank " + std::to_string(size() - 1);
  if (size() > 1) {
    CHECK_THROWS_WITH(average({{last ? "los" : "loss", 1}}),
                      Contains("\"loss\"") && Contains("rank 0") && Contains(other));
    std::vector<ls::Metric> more{{"loss", 1}};
    if (last) more.push_back({"accuracy", 1});
    CHECK_THROWS_WITH(average(more),
                      Contains("\"accuracy\" comes from " + other + " and not from rank 0"));
    CHECK_THROWS_AS(average(last ? std::vector<ls::Metric>{} : more), ls::InvalidUsage);
  }
  CHECK(average({{"loss", 3}}).at("loss").mean == 3);
}

TEST_CASE("a name that is there twice, or a weight without sense, is an error on all ranks") {
  const std::string last = "rank " + std::to_string(size() - 1);
  const auto refused = [&](const ls::Metric& metric, const std::string& what) {
    std::vector<ls::Metric> own{{"loss", 1}};
    if (rank() + 1 == size()) own.push_back(metric);
    CHECK_THROWS_WITH(average(own), Contains(metric.name) && Contains(what) && Contains(last));
  };
  refused({"loss", 1}, "twice");
  refused({"speed", 1, -1}, "weight -1");
  refused({"speed", 1, kNan}, "nan");
  refused({"speed", 1, std::numeric_limits<double>::infinity()}, "inf");
  CHECK(average({{"loss", 3}}).at("loss").weight == size());
}

TEST_CASE("evaluation with other numbers of batches on each rank exchanges nothing of the model") {
  ls::Environment& env = test_environment();
  env.seed(3);
  ls::nn::Mlp model{{6, 32, 3}, {.dropout = 0.5, .dtype = ls::DType::float64}};
  ls::DataParallel replica{model, env};
  ls::optim::Sgd sgd{replica.parameters()};
  const models::Samples samples(7, 1);
  const auto whole = [&] {
    return ls::cross_entropy(model(samples.rows(0, 7)), samples.labels_of(0, 7)).item<double>();
  };
  for (int epoch = 0; epoch < 2; ++epoch) {
    ls::train(model);
    sgd.zero_grad();
    ls::sum(replica(samples.rows(0, 7))).backward();
    sgd.step();
    const auto before = replica.counters();

    ls::eval(model);
    const ls::NoGrad no_grad;
    double sum = 0;
    double count = 0;
    // All samples on the last rank, one by one, or one each on the ranks that get one.
    for (std::int64_t row = 0; row < 7; ++row) {
      const int owner = epoch == 0 ? size() - 1 : static_cast<int>(row) % size();
      if (owner != rank()) continue;
      const auto loss = ls::cross_entropy(replica(samples.rows(row, 1)), samples.labels_of(row, 1));
      CHECK_FALSE(loss.requires_grad());
      sum += loss.item<double>();
      ++count;
    }
    CHECK(replica.counters().steps == before.steps);
    CHECK(replica.counters().collectives == before.collectives);
    CHECK(replica.counters().bytes_reduced == before.bytes_reduced);
    const auto metrics = average({{"loss", sum / count, count}});
    CHECK(metrics.at("loss").mean == Approx(whole()));
    CHECK(metrics.at("loss").weight == 7);
  }
}
