// The model of examples/fashion_mnist trained on devices and on the CPU from the same start: the
// weights stay together.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "backend/backend.hpp"
#include "support/test_environment.hpp"

namespace ls = lockstep;

namespace {

constexpr int kSteps = 50;
constexpr std::int64_t kBatch = 8;  // per rank

/// float32, unless the products of the two sides are added up in different orders: then Adam makes
/// steps of noise where a gradient is next to nothing.
ls::DType trained_dtype() {
  return ls::backend::cpu_gemm_library() == std::string("eigen") ? ls::DType::float64
                                                                 : ls::DType::float32;
}

std::vector<std::vector<double>> train(std::uint64_t seed, ls::Device device) {
  ls::Environment& env = test_environment();
  env.seed(seed);
  const ls::nn::LinearOptions options{.dtype = trained_dtype()};
  ls::nn::Sequential model{ls::nn::Linear{784, 512, options}, ls::nn::ReLU{},
                           ls::nn::Linear{512, 10, options}};
  // The transports' own orders of summation differ, and one rounding may switch a ReLU.
  ls::DataParallel replica{model, env.ranks(), device, {.order = ls::SumOrder::ranks}};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 1e-3}};
  ls::Generator generator(1000 * (seed + 1) + static_cast<std::uint64_t>(env.rank()));
  for (int i = 0; i < kSteps; ++i) {
    const ls::Tensor images = ls::uniform({kBatch, 784}, 0, 1, trained_dtype(), generator);
    std::vector<std::int64_t> labels(kBatch);
    for (auto& label : labels) label = static_cast<std::int64_t>(generator.below(10));
    const ls::Tensor loss =
        ls::cross_entropy(replica(images.to(device)), ls::tensor(labels, {kBatch}).to(device));
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  std::vector<std::vector<double>> weights;
  for (const auto& [name, parameter] : replica.parameters())
    weights.push_back(parameter.value().to_vector<double>());
  return weights;
}

double largest_difference(const std::vector<std::vector<double>>& a,
                          const std::vector<std::vector<double>>& b) {
  double largest = 0;
  for (std::size_t p = 0; p < a.size(); ++p)
    for (std::size_t i = 0; i < a[p].size(); ++i) {
      const double difference = std::fabs(a[p][i] - b[p][i]);
      largest = std::isnan(difference) ? 1e300 : std::max(largest, difference);
    }
  return largest;
}

}  // namespace

TEST_CASE("fifty steps on devices end within 1e-5 of those on the CPU, for twenty seeds") {
  ls::Environment& env = test_environment();
  REQUIRE(env.device().kind == ls::DeviceKind::cuda);
  double largest = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    const auto on_cpu = train(seed, ls::Device::cpu());
    const auto on_device = train(seed, env.device());
    const double difference = largest_difference(on_cpu, on_device);
    CHECK(difference <= 1e-5);
    largest = std::max(largest, difference);
  }
  env.print("largest difference of any weight " + std::to_string(largest * 1e6) + "e-6");
}
