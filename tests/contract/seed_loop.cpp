// The loop that the library exists for: a model, a replica of it on every rank, Adam, a loader.
// It must read exactly like this, and end with a lower loss and the same bits on every rank.
#include <cstdio>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

/// The bytes of all parameters, one after the other.
std::string weight_bytes(const ls::ParameterList& parameters) {
  std::string bytes;
  for (const auto& [name, parameter] : parameters) {
    const ls::Tensor& value = parameter.value();
    bytes.append(static_cast<const char*>(value.raw_data()),
                 static_cast<std::size_t>(value.byte_count()));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [](ls::Environment& env) -> int {
    env.seed(0);
    ls::nn::Sequential model{ls::nn::Linear{1000, 512}, ls::nn::ReLU{}, ls::nn::Linear{512, 10}};
    ls::DataParallel replica{model, env};
    ls::optim::Adam adam{replica.parameters(), {.learning_rate = 1e-3}};
    const ls::data::TensorDataset dataset{ls::randn({256, 1000})};
    ls::data::DataLoader loader{dataset, env, {.batch_size_per_rank = 32, .shuffle = true}};

    std::vector<float> losses;
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& batch : loader.epoch(epoch)) {
        auto loss = ls::mean(replica(batch.inputs));
        adam.zero_grad();
        loss.backward();
        adam.step();
        losses.push_back(loss.item());
      }

    const std::int64_t batches_per_epoch = (256 / env.size() + 31) / 32;
    if (adam.step_count() < 2 * batches_per_epoch || !(losses.back() < losses.front() - 0.1F)) {
      std::fprintf(stderr, "rank %d: loss went from %g to %g in %zu steps\n", env.rank(),
                   losses.front(), losses.back(), losses.size());
      return 1;
    }
    for (const std::string& other : env.ranks().gather_bytes(weight_bytes(replica.parameters())))
      if (other != weight_bytes(replica.parameters())) {
        std::fprintf(stderr, "rank %d: the ranks hold different weights\n", env.rank());
        return 1;
      }
    return 0;
  });
}
