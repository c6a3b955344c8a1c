// Inference: no Environment, no MPI, one const model called from four threads at once.
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/no_grad.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/nn/activation.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

namespace ls = lockstep;

namespace {

constexpr int kThreads = 4;
constexpr int kCalls = 25;

template <class Model>
std::vector<float> predict(const Model& model, const ls::Tensor& x) {
  const ls::NoGrad no_grad;
  const ls::Tensor y = model(x);
  if (y.requires_grad()) return {};
  return y.to_vector();
}

}  // namespace

int main() {
  ls::default_generator() = ls::Generator{5};
  const ls::nn::Sequential model{ls::nn::Linear{33, 64}, ls::nn::ReLU{}, ls::nn::Linear{64, 7}};

  std::vector<ls::Tensor> inputs;
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < kThreads; ++i) {
    inputs.push_back(ls::randn({17, 33}));
    expected.push_back(predict(model, inputs.back()));
    if (expected.back().size() != 17 * 7) return 1;
  }

  std::array<int, kThreads> wrong{};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int call = 0; call < kCalls; ++call)
        if (predict(model, inputs[i]) != expected[i]) ++wrong[i];
    });
  for (std::thread& thread : threads) thread.join();

  for (int i = 0; i < kThreads; ++i)
    if (wrong[i] != 0) {
      std::fprintf(stderr, "thread %d: %d of %d calls gave another answer\n", i, wrong[i], kCalls);
      return 1;
    }
  return 0;
}
