#include "common/command_line.hpp"

#include <charconv>
#include <string>

namespace common {

// CLI11's own ranges are in double, and are printed so.
CLI::Validator whole_number_from(std::int64_t smallest) {
  return CLI::Validator(
      [smallest](const std::string& text) -> std::string {
        std::int64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc{} && stop == end && value >= smallest) return {};
        return "'" + text + "' is not a whole number from " + std::to_string(smallest);
      },
      "");
}

void add_run_options(CLI::App& app, TrainingOptions& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--seed", options.seed, "of weights, data and order")->check(whole_number_from(0));
  app.add_option("--device", options.device, "where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
}

void add_batch_option(CLI::App& app, TrainingOptions& options) {
  app.add_option("--batch-size", options.batch_size, "samples per step on each rank")
      ->check(whole_number_from(1));
}

void add_training_options(CLI::App& app, TrainingOptions& options) {
  add_run_options(app, options);
  add_batch_option(app, options);
  app.add_option("--epochs", options.epochs, "passes over the data")->check(whole_number_from(1));
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
