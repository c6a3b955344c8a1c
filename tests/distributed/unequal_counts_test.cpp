// Averages over unequal numbers of tokens, and over none: every token counts once, wherever and in
// whatever micro-batch it lies.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/parallel/data_parallel.hpp>
#include <lockstep/parallel/metrics.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using models::gradient;

namespace {

constexpr std::int64_t kIgnored = -100;

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

/// Tokens of a micro-batch, and the gradient of each.
struct Part {
  double tokens;
  double each;
};

/// Of four micro-batches, those of this rank: two each on ranks 0 and 1, or all on the only one.
std::vector<Part> own_parts() {
  const std::vector<Part> all{{1, 8}, {3, 0}, {2, 4}, {10, 0}};
  if (size() == 1) return all;
  if (rank() == 0) return {all[0], all[1]};
  if (rank() == 1) return {all[2], all[3]};
  return {};
}

/// Accumulates the sums of all parts, and exchanges them with the last.
void backward_of_sums(ls::Replica& replica, const std::vector<ls::Tensor>& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::optional<ls::Replica::NoSync> guard;
    if (i + 1 < sums.size()) guard.emplace(replica);
    sums[i].backward();
  }
  if (sums.empty()) replica.synchronize();
}

/// Logits of two classes from one input.
struct Classifier {
  ls::Parameter weight{ls::zeros({2, 1}, ls::DType::float64)};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("weight", weight);
  }
  ls::Tensor operator()(const ls::Tensor& x) const { return ls::linear(x, weight); }
};

ls::Tensor labels_of(const std::vector<std::int64_t>& labels) {
  return ls::tensor(labels, {static_cast<std::int64_t>(labels.size())},
                    test_environment().device());
}

std::int64_t valid_count(const std::vector<std::int64_t>& labels) {
  std::int64_t count = 0;
  for (const std::int64_t label : labels) count += label != kIgnored ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a loss per token is the mean over all tokens, not of means (torchtune#1875)") {
  const std::vector<Part> parts = own_parts();
  double tokens = 0;
  double loss = 0;
  for (const Part& part : parts) {
    tokens += part.tokens;
    loss += part.tokens * part.each;
  }
  for (const ls::Averaging averaging : {ls::Averaging::weighted, ls::Averaging::mean}) {
    // A divisor of 0 has no meaning, so ranks without tokens are for `weighted`.
    if (averaging == ls::Averaging::mean && size() > 2) continue;
    models::OneWeight model{1, ls::DType::float64};
    ls::DataParallel replica{model, test_environment(), {.averaging = averaging}};
    std::vector<ls::Tensor> sums;
    for (const Part& part : parts) sums.push_back(replica(part.tokens * part.each));
    if (averaging == ls::Averaging::weighted) replica.set_sample_count(tokens);
    if (tokens > 0) replica.set_divisor(tokens);
    backward_of_sums(replica, sums);
    CHECK(gradient(model.w) == 1);
    CHECK(replica.counters().steps == 1);
  }
  const auto metrics =
      ls::average_metrics(test_environment().ranks(), {{"loss", loss / tokens, tokens}});
  CHECK(metrics.at("loss").mean == 1);
  CHECK(metrics.at("loss").weight == 16);
}

TEST_CASE("masked labels, packed in any way, train as all of them on one rank do") {
  constexpr std::int64_t kRows = 6;  // per rank, in micro-batches of 1, 2 and 3 rows
  test_environment().seed(8);
  auto model = models::small_network();
  auto alone = model.clone();
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::weighted}};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 0.01}};
  ls::optim::Adam other{ls::parameters(alone), {.learning_rate = 0.01}};
  ls::Generator mask{12};
  for (int step = 0; step < 10; ++step) {
    models::Samples samples(kRows * size(), static_cast<std::uint64_t>(step));
    for (auto& label : samples.labels)
      if (mask.below(3) != 0) label = kIgnored;
    const std::int64_t begin = kRows * rank();
    double tokens = 0;
    std::vector<ls::Tensor> sums;
    for (std::int64_t count = 1, first = begin; count <= 3; first += count++) {
      const ls::Tensor labels = samples.labels_of(first, count);
      tokens += static_cast<double>(valid_count(labels.to_vector<std::int64_t>()));
      sums.push_back(ls::cross_entropy(replica(samples.rows(first, count)), labels,
                                       {.reduction = ls::Reduction::sum}));
    }
    adam.zero_grad();
    replica.set_sample_count(tokens);
    if (tokens > 0) replica.set_divisor(tokens);
    backward_of_sums(replica, sums);
    adam.step();

    const std::int64_t all = kRows * size();
    other.zero_grad();
    ls::cross_entropy(alone(samples.rows(0, all)), samples.labels_of(0, all)).backward();
    other.step();
  }
  const ls::ParameterList found = ls::parameters(model);
  const ls::ParameterList expected = ls::parameters(alone);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto a = found[i].parameter.value().to_vector<double>();
    const auto b = expected[i].parameter.value().to_vector<double>();
    for (std::size_t j = 0; j < a.size(); ++j) CHECK(a[j] == Approx(b[j]).margin(1e-9));
  }
}

TEST_CASE("a rank whose labels are all masked counts for nothing (OLMo-core#657)") {
  // x = 4 and weights of 0: each label 1 has the gradient 2 at class 0, and the loss log 2.
  const ls::Tensor x = ls::full({3, 1}, 4.0, ls::DType::float64, test_environment().device());
  Classifier model;
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::weighted}};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 0.25}};
  double epoch_sum = 0;
  double epoch_weight = 0;
  for (int step = 0; step < 2; ++step) {
    const bool valid = step == 0 && rank() == 0;
    const std::vector<std::int64_t> labels(3, valid ? 1 : kIgnored);
    const ls::Tensor loss = ls::cross_entropy(replica(x), labels_of(labels));
    CHECK(std::isnan(loss.item<double>()) == !valid);
    const auto tokens = static_cast<double>(valid_count(labels));
    sgd.zero_grad();
    replica.set_sample_count(tokens);
    loss.backward();
    CHECK(model.weight.gradient().to_vector<double>() ==
          (step == 0 ? std::vector<double>{2, -2} : std::vector<double>{0, 0}));
    sgd.step();
    CHECK(model.weight.value().to_vector<double>() == std::vector<double>{-0.5, 0.5});
    const auto mean =
        ls::average_metrics(test_environment().ranks(), {{"loss", loss.item<double>(), tokens}})
            .at("loss");
    CHECK(mean.weight == (step == 0 ? 3 : 0));
    if (mean.weight > 0) epoch_sum += mean.mean * mean.weight;
    epoch_weight += mean.weight;
  }
  CHECK(epoch_sum / epoch_weight == Approx(std::log(2.0)));
}

TEST_CASE("a step in which no rank has a label leaves the weights as they are") {
  const ls::Tensor x = ls::full({2, 1}, 4.0, ls::DType::float64, test_environment().device());
  const ls::Tensor labels = labels_of({kIgnored, kIgnored});
  for (const ls::Averaging averaging : {ls::Averaging::weighted, ls::Averaging::mean}) {
    Classifier model;
    model.weight.value().fill(0.5);
    ls::DataParallel replica{model, test_environment(), {.averaging = averaging}};
    ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 1}};
    for (int step = 0; step < 2; ++step) {
      sgd.zero_grad();
      if (averaging == ls::Averaging::weighted) replica.set_sample_count(0);
      ls::cross_entropy(replica(x), labels).backward();
      CHECK(model.weight.gradient().to_vector<double>() == std::vector<double>{0, 0});
      CHECK(ls::optim::clip_gradient_norm(replica.parameters(), 1) == 0);
      sgd.step();
      CHECK(model.weight.value().to_vector<double>() == std::vector<double>{0.5, 0.5});
    }
  }
}

TEST_CASE("a rank without rows at all takes part with its empty batch") {
  // Rank r has r rows of the input r: the gradient of sum(w x) over them is r * r.
  models::OneWeight model{1, ls::DType::float64};
  ls::DataParallel replica{model, test_environment(), {.averaging = ls::Averaging::weighted}};
  const ls::Tensor x = ls::full({rank()}, rank(), ls::DType::float64);
  replica.set_sample_count(rank());
  const ls::Tensor loss = ls::mean(x * replica(1.0));
  CHECK(std::isnan(loss.item<double>()) == (rank() == 0));
  loss.backward();
  double sum = 0;
  double count = 0;
  for (int r = 0; r < size(); ++r) {
    sum += r * r;
    count += r;
  }
  CHECK(gradient(model.w) == Approx(count == 0 ? 0 : sum / count));
}
