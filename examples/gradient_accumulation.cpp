// Gradient accumulation: several micro-batches to one optimizer step. The gradients are exchanged
// once per step, so what goes over the wire does not grow with the number of micro-batches.
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/command_line.hpp"
#include "common/result.hpp"

namespace ls = lockstep;

int main(int argc, char** argv) {
  return ls::run(argc, argv, [&](ls::Environment& env) {
    common::TrainingOptions options{.epochs = 10, .batch_size = 32};
    std::int64_t accumulate = 4;
    CLI::App app{"Trains on random vectors with several micro-batches to one step.",
                 "gradient_accumulation"};
    common::add_training_options(app, options);
    app.add_option("--accumulate", accumulate, "micro-batches to one optimizer step")
        ->check(common::whole_number_from(1));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;
    common::apply(options, env);

    ls::nn::Sequential model{ls::nn::Linear{1000, 512}, ls::nn::ReLU{}, ls::nn::Linear{512, 10}};
    ls::DataParallel replica{model, env};
    ls::optim::Adam adam{replica.parameters(), {.learning_rate = 1e-3}};
    const ls::data::TensorDataset dataset{ls::randn({10'000, 1000})};
    ls::data::DataLoader loader{
        dataset, env, {.batch_size_per_rank = options.batch_size, .shuffle = true}};

    ls::AccumulationWindow window{replica, accumulate};
    const auto step = [&] {
      adam.step();
      adam.zero_grad();
    };
    std::vector<double> seconds;
    double epoch_loss = 0;
    for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
      const common::Stopwatch watch;
      common::LossMeter meter;
      for (const auto& batch : loader.epoch(epoch)) {
        auto loss = ls::mean(replica(batch.inputs));
        if (window.backward(loss)) step();
        meter.add(loss, batch.size);
      }
      if (window.finish()) step();  // the last window of an epoch may be shorter
      epoch_loss = meter.mean(env);
      seconds.push_back(watch.seconds());
      env.print("epoch " + std::to_string(epoch) + "  loss " + common::fixed(epoch_loss, 4));
    }

    const double median = common::median(seconds);
    const double samples = static_cast<double>(loader.sample_count() * env.size());
    const auto steps = static_cast<double>(adam.step_count());
    const auto& counters = replica.counters();
    env.print(common::ResultLine{}
                  .add("ranks", env.size())
                  .add("device", to_string(env.device()))
                  .add("accumulate", accumulate)
                  .add("collectives_per_step", static_cast<double>(counters.collectives) / steps, 2)
                  .add("bytes_per_step", static_cast<double>(counters.bytes_reduced) / steps, 0)
                  .add("us_per_step", 1e6 * median * static_cast<double>(options.epochs) / steps, 1)
                  .add("samples_per_second", samples / median, 0)
                  .add("loss", epoch_loss, 6)
                  .text());
    return 0;
  });
}
