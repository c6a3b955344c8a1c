// A generator and a critic trained alternately (horovod/horovod#796): the step of one does not
// touch the exchange of the other, and the ranks train as one rank with all samples does.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/nn/mlp.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;

namespace {

using Net = ls::nn::Mlp<ls::nn::GELU>;

constexpr std::int64_t kRows = 3;  // per rank and step
constexpr int kSteps = 12;

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }

struct Models {
  Net generator{{2, 6, 2}, {.dtype = ls::DType::float64}};
  Net critic{{2, 6, 1}, {.dtype = ls::DType::float64}};
};

Models fresh_models() {
  test_environment().seed(6);
  return {};
}

/// Rows [first, first + count) of what all ranks together use in a step.
struct Batch {
  ls::Tensor real;
  ls::Tensor noise;

  Batch(int step, std::int64_t first, std::int64_t count, ls::Device device) {
    ls::Generator generator{31, static_cast<std::uint64_t>(step)};
    for (ls::Tensor* part : {&real, &noise}) {
      const ls::Tensor all = ls::normal({kRows * size(), 2}, ls::DType::float64, generator);
      const std::span<const double> rows(all.data<double>() + 2 * first,
                                         static_cast<std::size_t>(2 * count));
      *part = ls::tensor(rows, {count, 2}, device);
    }
  }
};

ls::Tensor distance_to(double target, const ls::Tensor& scores) {
  return ls::mse_loss(scores, ls::full(scores.shape(), target, scores.dtype(), scores.device()));
}

void set_frozen(Net& net, bool frozen) {
  for (auto& [name, parameter] : ls::parameters(net)) {
    if (frozen)
      parameter.freeze();
    else
      parameter.unfreeze();
  }
}

/// How the two backwards of a step lie.
enum class Order { one_after_the_other, critic_in_flight, generator_first };

/// One step of both models; `generator` and `critic` are these or their replicas.
template <class Generator, class Critic>
void step(Models& models, Generator& generator, Critic& critic, ls::optim::Optimizer& g,
          ls::optim::Optimizer& c, const Batch& batch, Order order) {
  const auto critic_backward = [&] {
    c.zero_grad();
    const ls::Tensor fake = generator(batch.noise).detach();
    (distance_to(1, critic(batch.real)) + distance_to(0, critic(fake))).backward();
  };
  const auto generator_backward = [&] {
    g.zero_grad();
    set_frozen(models.critic, true);
    distance_to(1, critic(generator(batch.noise))).backward();
    set_frozen(models.critic, false);
  };
  if (order == Order::generator_first) generator_backward();
  critic_backward();
  if (order == Order::one_after_the_other) c.step();
  if (order != Order::generator_first) generator_backward();
  g.step();
  if (order != Order::one_after_the_other) c.step();
}

std::vector<double> weights(Models& models) {
  std::vector<double> all;
  for (Net* net : {&models.generator, &models.critic})
    for (const auto& [name, parameter] : ls::parameters(*net))
      for (const double value : parameter.value().to_vector<double>()) all.push_back(value);
  return all;
}

std::vector<double> trained_alone(Order order) {
  Models models = fresh_models();
  ls::optim::Adam g{ls::parameters(models.generator), {.learning_rate = 0.02}};
  ls::optim::Adam c{ls::parameters(models.critic), {.learning_rate = 0.05}};
  for (int i = 0; i < kSteps; ++i)
    step(models, models.generator, models.critic, g, c,
         Batch(i, 0, kRows * size(), ls::Device::cpu()), order);
  return weights(models);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = difference <= largest ? largest : difference;  // keeps a NaN
  }
  return largest;
}

}  // namespace

TEST_CASE("two models trained alternately end as on one rank with all samples") {
  ls::Environment& env = test_environment();
  for (const Order order :
       {Order::one_after_the_other, Order::critic_in_flight, Order::generator_first}) {
    INFO("order " << static_cast<int>(order));
    Models models = fresh_models();
    const ls::DataParallelOptions options{.bucket_bytes = 64, .first_bucket_bytes = 64};
    ls::DataParallel generator{models.generator, env, options};
    ls::DataParallel critic{models.critic, env, options};
    ls::optim::Adam g{generator.parameters(), {.learning_rate = 0.02}};
    ls::optim::Adam c{critic.parameters(), {.learning_rate = 0.05}};
    for (int i = 0; i < kSteps; ++i)
      step(models, generator, critic, g, c, Batch(i, rank() * kRows, kRows, env.device()), order);
    for (auto* replica :
         {static_cast<ls::Replica*>(&generator), static_cast<ls::Replica*>(&critic)}) {
      CHECK(replica->counters().steps == kSteps);
      CHECK(replica->counters().collectives == (size() > 1 ? kSteps * replica->bucket_count() : 0));
    }
    CHECK(models::same_on_all_ranks(models::weight_bytes(generator.parameters()) +
                                    models::weight_bytes(critic.parameters())));
    CHECK(largest_difference(weights(models), trained_alone(order)) < 1e-9);
  }
}

TEST_CASE("the generator's backward through a frozen critic leaves the critic's exchange alone") {
  ls::Environment& env = test_environment();
  Models models = fresh_models();
  ls::DataParallel generator{models.generator, env};
  ls::DataParallel critic{models.critic, env};
  const Batch batch(0, rank() * kRows, kRows, env.device());
  distance_to(1, critic(batch.real)).backward();
  const auto in_flight = critic.counters();
  set_frozen(models.critic, true);
  distance_to(1, critic(generator(batch.noise))).backward();
  set_frozen(models.critic, false);
  CHECK(critic.counters().steps == in_flight.steps);
  CHECK(critic.counters().collectives == in_flight.collectives);

  // The critic's gradients are those of its own loss, and the generator's are there too.
  Models alone = fresh_models();
  const Batch all(0, 0, kRows * size(), ls::Device::cpu());
  distance_to(1, alone.critic(all.real)).backward();
  set_frozen(alone.critic, true);
  distance_to(1, alone.critic(alone.generator(all.noise))).backward();
  for (Net Models::*net : {&Models::critic, &Models::generator}) {
    const ls::ParameterList found = ls::parameters(models.*net);
    const ls::ParameterList expected = ls::parameters(alone.*net);
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(largest_difference(found[i].parameter.gradient().to_vector<double>(),
                               expected[i].parameter.gradient().to_vector<double>()) < 1e-12);
  }
}
