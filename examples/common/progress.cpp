#include "common/progress.hpp"

#include <cstdio>
#include <utility>

#include "common/terminal.hpp"

namespace common {

namespace {

constexpr double kSecondsBetweenDraws = 0.1;
constexpr std::int64_t kBarWidth = 24;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(const lockstep::Environment& environment, std::string label, std::int64_t steps)
    : label_(std::move(label)),
      steps_(steps),
      ranks_(environment.size()),
      shown_(environment.is_root() && output_is_terminal()) {}

Progress::~Progress() {
  if (!shown_) return;
  std::fputs(kClearLine, stdout);
  std::fflush(stdout);
}

void Progress::step(const LossMeter& loss) {
  ++done_;
  if (!shown_ || watch_.seconds() < next_draw_) return;
  next_draw_ = watch_.seconds() + kSecondsBetweenDraws;
  draw(loss);
}

void Progress::draw(const LossMeter& loss) const {
  const auto filled = static_cast<std::size_t>(kBarWidth * done_ / steps_);
  const std::string bar = std::string(filled, '=') + std::string(kBarWidth - filled, ' ');
  const double rate = static_cast<double>(loss.samples()) * ranks_ / watch_.seconds();
  std::printf("%s%s [%s] %3d %%  loss %.4f  %.0f samples/s", kClearLine, label_.c_str(),
              bar.c_str(), static_cast<int>(100 * done_ / steps_), loss.own_mean(), rate);
  std::fflush(stdout);
}

}  // namespace common
