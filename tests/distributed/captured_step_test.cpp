// A captured step trains as the step itself does, bit for bit.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;

namespace {

constexpr int kSteps = 104;

struct Run {
  std::string weights;
  std::vector<double> losses;
  std::vector<double> norms;
  std::int64_t replays = 0;
};

struct Setting {
  bool captured = false;
  int last_rows = 6;  // of the last steps: another shape
  ls::SumOrder order = ls::SumOrder::fastest;
};

/// Adam with a rate that changes in each step, dropout and clipping.
Run train(const Setting& setting) {
  ls::Environment& env = test_environment();
  env.seed(17);
  ls::nn::Sequential model{ls::nn::Linear{19, 33}, ls::nn::GELU{}, ls::nn::Dropout{0.25},
                           ls::nn::Linear{33, 5}};
  ls::DataParallel replica{
      model, env, {.bucket_bytes = 1000, .first_bucket_bytes = 100, .order = setting.order}};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 1e-2}};
  ls::Tensor norm;
  ls::CapturedStep step{[&](const ls::Tensor& x, const ls::Tensor& labels) {
                          const ls::Tensor loss = ls::cross_entropy(replica(x), labels);
                          adam.zero_grad();
                          loss.backward();
                          norm = ls::optim::clip_gradient_norm(replica.parameters(), 0.3).tensor();
                          adam.step();
                          return loss;
                        },
                        {.enabled = setting.captured}};
  ls::Generator generator(100 + static_cast<std::uint64_t>(env.rank()));
  Run run;
  for (int i = 0; i < kSteps; ++i) {
    const std::int64_t rows = i < kSteps - 20 ? 6 : setting.last_rows;
    const ls::Tensor x = ls::uniform({rows, 19}, -1, 1, ls::DType::float32, generator);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(rows));
    for (auto& label : labels) label = static_cast<std::int64_t>(generator.below(5));
    adam.set_learning_rate(1e-2 / (1 + i));
    const ls::Tensor loss = step(x.to(env.device()), ls::tensor(labels, {rows}).to(env.device()));
    run.losses.push_back(loss.item<double>());
    run.norms.push_back(norm.item<double>());
  }
  run.weights = models::weight_bytes(replica.parameters());
  run.replays = step.replay_count();
  CHECK(adam.step_count() == kSteps);
  return run;
}

void check_same(const Run& a, const Run& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    INFO("step " << i);
    REQUIRE(a.losses[i] == b.losses[i]);
    REQUIRE(a.norms[i] == b.norms[i]);
  }
  CHECK(a.weights == b.weights);
}

bool on_device() { return test_environment().device().kind == ls::DeviceKind::cuda; }

}  // namespace

TEST_CASE("a hundred replayed steps are the hundred steps, bit for bit") {
  const Run plain = train({});
  const Run captured = train({.captured = true});
  CHECK(plain.replays == 0);
  CHECK(captured.replays == (on_device() ? kSteps - 2 : 0));
  CHECK(plain.losses.front() != plain.losses.back());
  check_same(plain, captured);
}

TEST_CASE("sums in rank order are captured as well") {
  check_same(train({.order = ls::SumOrder::ranks}),
             train({.captured = true, .order = ls::SumOrder::ranks}));
}

TEST_CASE("another shape gets a recording of its own") {
  const Run captured = train({.captured = true, .last_rows = 3});
  CHECK(captured.replays == (on_device() ? kSteps - 4 : 0));
  check_same(train({.last_rows = 3}), captured);
}

TEST_CASE("a step that reads a value is not captured, and says so once") {
  ls::Environment& env = test_environment();
  std::vector<std::string> lines;
  ls::set_log_sink([&](ls::LogLevel, std::string_view line) { lines.emplace_back(line); });
  double sum = 0;
  ls::CapturedStep step{[&](const ls::Tensor& x) {
    const ls::Tensor y = ls::sum(x);
    sum += y.item<double>();
    return y;
  }};
  const ls::Tensor x = ls::full({4}, 0.5, ls::DType::float32, env.device());
  for (int i = 0; i < 5; ++i) CHECK(step(x).item() == 2);
  ls::set_log_sink({});
  CHECK(sum == 10);
  CHECK(step.refused() == on_device());
  REQUIRE(lines.size() == (on_device() ? 1 : 0));
  if (on_device()) {
    INFO(lines[0]);
    CHECK(lines[0].find("reads a value back") != std::string::npos);
  }
}

TEST_CASE("an exception of the step passes through, and later steps work") {
  ls::Environment& env = test_environment();
  bool broken = false;
  ls::CapturedStep step{[&](const ls::Tensor& x) {
    ls::Tensor y = x + x;
    if (broken) throw std::runtime_error("broken");
    return y;
  }};
  const ls::Tensor x = ls::full({3}, 1, ls::DType::float32, env.device());
  CHECK(step(x).to_vector<double>() == std::vector<double>{2, 2, 2});
  step(x);
  broken = on_device();  // in the call that records
  if (broken) {
    CHECK_THROWS_WITH(step(x), "broken");
    broken = false;
  }
  for (int i = 0; i < 3; ++i) CHECK(step(x).to_vector<double>() == std::vector<double>{2, 2, 2});
}

TEST_CASE("a user's input is copied: the tensor of a replay may go away") {
  ls::Environment& env = test_environment();
  ls::CapturedStep step{[](const ls::Tensor& x) { return ls::sum(x); }};
  for (int i = 0; i < 6; ++i) {
    ls::Tensor x = ls::full({100}, i, ls::DType::float32, env.device());
    const ls::Tensor y = step(x);
    x.fill(-1);
    CHECK(y.item() == 100 * i);
  }
}

// Each rank tells its own step with the gradients, whether it replays or not.
TEST_CASE("a rank may run a step as it is while others replay theirs") {
  ls::Environment& env = test_environment();
  const auto weights = [&](bool captured) {
    env.seed(23);
    ls::nn::Sequential model{ls::nn::Linear{5, 4}};
    ls::DataParallel replica{model, env};
    ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 0.1}};
    ls::CapturedStep step{[&](const ls::Tensor& x) {
                            const ls::Tensor y = replica(x);
                            const ls::Tensor loss = ls::mean(y * y);
                            sgd.zero_grad();
                            loss.backward();
                            sgd.step();
                            return loss;
                          },
                          {.enabled = captured}};
    for (int i = 0; i < 12; ++i) {
      const std::int64_t rows = i > 6 && env.rank() == 0 ? i : 3;  // shapes that are new
      step(ls::full({rows, 5}, 0.25 * (1 + env.rank()), ls::DType::float32, env.device())).item();
    }
    CHECK(replica.counters().steps == 12);
    return models::weight_bytes(replica.parameters());
  };
  CHECK(weights(true) == weights(false));
}

TEST_CASE("a step with inputs on two devices is not captured, and says so once") {
  ls::Environment& env = test_environment();
  std::vector<std::string> lines;
  ls::set_log_sink([&](ls::LogLevel, std::string_view line) { lines.emplace_back(line); });
  ls::CapturedStep step{[&](const ls::Tensor& x, const ls::Tensor& offset) {
    return ls::sum(x + offset.to(env.device()));
  }};
  const ls::Tensor x = ls::full({4}, 0.5, ls::DType::float32, env.device());
  for (int i = 0; i < 6; ++i) CHECK(step(x, ls::full({4}, i)).item() == 2 + 4 * i);
  ls::set_log_sink({});
  CHECK(step.refused() == on_device());
  REQUIRE(lines.size() == (on_device() ? 1 : 0));
  if (on_device()) CHECK(lines[0].find("move them to one device") != std::string::npos);
}
