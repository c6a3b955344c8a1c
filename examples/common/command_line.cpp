#include "common/command_line.hpp"

namespace common {

void add_training_options(CLI::App& app, TrainingOptions& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--epochs", options.epochs, "passes over the data")->check(CLI::PositiveNumber);
  app.add_option("--batch-size", options.batch_size, "samples per step on each rank")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of weights, data and order")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--device", options.device, "where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
}

std::optional<int> parse(CLI::App& app, int argc, char** argv,
                         const lockstep::Environment& environment) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& help) {
    if (environment.is_root()) app.exit(help);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (environment.is_root()) app.exit(error);
    return 2;
  }
}

void apply(const TrainingOptions& options, lockstep::Environment& environment) {
  environment.select_device(lockstep::device_choice(options.device));
  environment.seed(options.seed);
}

}  // namespace common
