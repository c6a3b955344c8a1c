// Trains a small network and prints a hash of the final weights: processes that are started anew
// must print the same one.
#include <cstdint>
#include <cstdio>
#include <string>

#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

/// FNV-1a, 64 bits.
std::uint64_t hash(const std::string& bytes) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char byte : bytes) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return value;
}

std::string train(ls::Environment& env, ls::SumOrder order) {
  env.seed(1);
  ls::nn::Sequential model{ls::nn::Linear{200, 301}, ls::nn::ReLU{}, ls::nn::Linear{301, 10}};
  ls::DataParallel replica{model, env, {.bucket_bytes = 50'000, .order = order}};
  ls::optim::AdamW adam{replica.parameters(), {.learning_rate = 0.01}};
  const ls::data::TensorDataset dataset{ls::randn({400, 200})};
  ls::data::DataLoader loader{dataset, env, {.batch_size_per_rank = 16, .shuffle = true}};
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& batch : loader.epoch(epoch)) {
      const ls::Tensor y = replica(batch.inputs);
      adam.zero_grad();
      ls::mean(y * y).backward();
      ls::optim::clip_gradient_norm(replica.parameters(), 0.5);
      adam.step();
    }
  std::string bytes;
  for (const auto& [name, parameter] : replica.parameters()) {
    const ls::Tensor& value = parameter.value();
    bytes.append(static_cast<const char*>(value.raw_data()),
                 static_cast<std::size_t>(value.byte_count()));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [](ls::Environment& env) {
    for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
      const std::uint64_t own = hash(train(env, order));
      if (env.is_root()) std::printf("weights %016llx\n", static_cast<unsigned long long>(own));
    }
  });
}
