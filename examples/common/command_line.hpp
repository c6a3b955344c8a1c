// The command line: the same options in every program, and one message for all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <lockstep/comm/environment.hpp>

namespace common {

struct TrainingOptions {
  std::int64_t epochs = 10;
  std::int64_t batch_size = 32;  // per rank
  std::uint64_t seed = 0;
  std::string device = "auto";
};

/// For options: a whole number of at least that.
CLI::Validator whole_number_from(std::int64_t smallest);

/// --seed and --device, with the values in `options` as defaults. First of all options.
void add_run_options(CLI::App& app, TrainingOptions& options);
/// --batch-size.
void add_batch_option(CLI::App& app, TrainingOptions& options);
/// --seed, --device, --batch-size and --epochs.
void add_training_options(CLI::App& app, TrainingOptions& options);

/// Parses on every rank, and prints help or what is wrong on rank 0 alone. Returns the exit status
/// if the program is to end here: 0 after --help, 2 after an error.
std::optional<int> parse(CLI::App& app, int argc, char** argv,
                         const lockstep::Environment& environment);

/// Takes the device and the seed that were asked for.
void apply(const TrainingOptions& options, lockstep::Environment& environment);

}  // namespace common
