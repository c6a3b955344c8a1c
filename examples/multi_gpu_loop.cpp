// The data-parallel loop: each rank trains on its own part of the data, and all replicas take the
// same steps. Start it on any number of ranks: mpirun -np 2 multi_gpu_loop
// With --capture a GPU records the step once and replays it from then on.
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/command_line.hpp"
#include "common/result.hpp"

namespace ls = lockstep;

int main(int argc, char** argv) {
  return ls::run(argc, argv, [&](ls::Environment& env) {
    common::TrainingOptions options{.epochs = 10, .batch_size = 32};
    CLI::App app{"Trains a network of two layers on random vectors.", "multi_gpu_loop"};
    common::add_training_options(app, options);
    bool capture = false;
    app.add_flag("--capture", capture, "record the step and replay it, where the device can");
    if (const auto status = common::parse(app, argc, argv, env)) return *status;
    common::apply(options, env);

    ls::nn::Sequential model{ls::nn::Linear{1000, 512}, ls::nn::ReLU{}, ls::nn::Linear{512, 10}};
    ls::DataParallel replica{model, env};
    ls::optim::Adam adam{replica.parameters(), {.learning_rate = 1e-3}};
    const ls::data::TensorDataset dataset{ls::randn({10'000, 1000})};
    ls::data::DataLoader loader{
        dataset, env, {.batch_size_per_rank = options.batch_size, .shuffle = true}};

    ls::CapturedStep step{[&](const ls::Tensor& inputs) {
                            auto loss = ls::mean(replica(inputs));
                            adam.zero_grad();
                            loss.backward();
                            adam.step();
                            return loss;
                          },
                          {.enabled = capture}};
    std::vector<double> seconds;
    double epoch_loss = 0;
    for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
      const common::Stopwatch watch;
      common::LossMeter meter;
      for (const auto& batch : loader.epoch(epoch)) meter.add(step(batch.inputs), batch.size);
      epoch_loss = meter.mean(env);
      seconds.push_back(watch.seconds());
      env.print("epoch " + std::to_string(epoch) + "  loss " + common::fixed(epoch_loss, 4));
    }

    const double median = common::median(seconds);
    const double samples = static_cast<double>(loader.sample_count() * env.size());
    common::ResultLine result;
    result.add("ranks", env.size()).add("device", to_string(env.device()));
    if (capture) result.add("replayed_steps", step.replay_count());
    env.print(result.add("us_per_step", 1e6 * median / static_cast<double>(loader.batch_count()), 1)
                  .add("samples_per_second", samples / median, 0)
                  .add("loss", epoch_loss, 6)
                  .text());
    return 0;
  });
}
