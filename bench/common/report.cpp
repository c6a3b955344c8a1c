#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include <lockstep/core/error.hpp>

#include "machine.hpp"

namespace bench {

namespace {

constexpr std::size_t kColumnWidth = 10;

std::string cell(const Row& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value.get<double>());
  return text;
}

std::string padded(const std::string& text, const std::string& title) {
  const auto width = std::max(kColumnWidth, title.size());
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text + "  ";
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--repetitions", options.repetitions, "measurements per row; the median is shown")
      ->check(common::whole_number_from(1));
  app.add_option("--json", options.json, "file to write the table to");
}

Report::Report(const lockstep::Environment& environment, std::string benchmark, Row settings)
    : environment_(&environment),
      content_{{"benchmark", std::move(benchmark)},
               {"machine", machine()},
               {"settings", std::move(settings)},
               {"rows", Row::array()}} {
  content_["settings"]["ranks"] = environment.size();
  content_["settings"]["device"] = to_string(environment.device());
}

void Report::add(const Row& row) {
  if (content_["rows"].empty()) print_head(row);
  content_["rows"].push_back(row);
  std::string line;
  for (const auto& [title, value] : row.items()) line += padded(cell(value), title);
  environment_->print(line);
}

void Report::print_head(const Row& row) const {
  environment_->print(content_["benchmark"].get<std::string>());
  for (const char* part : {"machine", "settings"})
    for (const auto& [key, value] : content_[part].items())
      environment_->print("  " + key + ": " + cell(value));
  std::string titles;
  for (const auto& [title, value] : row.items()) titles += padded(title, title);
  environment_->print(titles);
}

void Report::write(const std::string& path) const {
  if (path.empty() || !environment_->is_root()) return;
  std::ofstream file(path);
  file << content_.dump(2) << '\n';
  file.close();
  if (!file)
    throw lockstep::FileError("cannot write '" + path + "': expected a file that can be written");
}

}  // namespace bench
