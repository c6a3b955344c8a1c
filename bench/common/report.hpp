// The output of a benchmark: a table on the screen, the same as JSON in a file.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <lockstep/comm/environment.hpp>

#include "common/command_line.hpp"

namespace bench {

using Row = nlohmann::ordered_json;  // an object: column to number or text

struct Options {
  int repetitions = 20;
  std::string json;  // file; "" for none
};

/// --repetitions and --json, with the values in `options` as defaults.
void add_options(CLI::App& app, Options& options);

/// Rank 0 prints and writes; the others do nothing. All rows have the same columns.
class Report {
 public:
  Report(const lockstep::Environment& environment, std::string benchmark, Row settings);
  /// Prints the row; the first one under a head with the machine and the columns.
  void add(const Row& row);
  /// @throws lockstep::FileError naming the path.
  void write(const std::string& path) const;

 private:
  void print_head(const Row& row) const;

  const lockstep::Environment* environment_;
  Row content_;
};

}  // namespace bench
