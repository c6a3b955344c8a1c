// Several threads on one device.
#include <thread>

#include "parity/training.hpp"

using namespace parity;

TEST_CASE("a network that four threads call at once on CUDA answers each as on the CPU") {
  if (no_device()) return;
  const Network here = make_network(ls::Device::cpu(), ls::DType::float64);
  const Network there = make_network(kCuda, ls::DType::float64);
  constexpr std::size_t kThreads = 4;
  constexpr std::int64_t kCalls = 12;
  std::vector<std::vector<std::vector<double>>> answers(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const ls::NoGrad no_grad;
      for (std::int64_t call = 0; call < kCalls; ++call) {
        const auto number = static_cast<std::int64_t>(thread) * kCalls + call;
        const auto batch = batch_of(number, kCuda, ls::DType::float64);
        answers[thread].push_back(there(batch.inputs, true).to_vector<double>());
      }
    });
  for (auto& thread : threads) thread.join();
  const ls::NoGrad no_grad;
  for (std::size_t thread = 0; thread < kThreads; ++thread)
    for (std::int64_t call = 0; call < kCalls; ++call) {
      const auto number = static_cast<std::int64_t>(thread) * kCalls + call;
      const auto batch = batch_of(number, ls::Device::cpu(), ls::DType::float64);
      CHECK(apart(here(batch.inputs, true).to_vector<double>(),
                  answers[thread][static_cast<std::size_t>(call)]) <= kProduct<double>);
    }
}

TEST_CASE("two threads that each train a network on CUDA get the bits of one alone") {
  if (no_device()) return;
  const auto train = [](std::int64_t first) {
    Network network = make_network(kCuda, ls::DType::float32);
    ls::optim::Adam adam(ls::parameters(network));
    for (std::int64_t step = first; step < first + 8; ++step) {
      const auto batch = batch_of(step, kCuda, ls::DType::float32);
      adam.zero_grad();
      ls::cross_entropy(network(batch.inputs, true), batch.targets).backward();
      ls::optim::clip_gradient_norm(adam.parameters(), 0.4);
      adam.step();
    }
    return parameter_values<float>(network);
  };
  std::vector<std::vector<float>> first;
  std::vector<std::vector<float>> second;
  std::thread one([&] { first = train(0); });
  std::thread other([&] { second = train(100); });
  one.join();
  other.join();
  CHECK(same(train(0), first));
  CHECK(same(train(100), second));
}
