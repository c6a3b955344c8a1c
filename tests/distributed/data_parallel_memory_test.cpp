// Training needs 16 bytes per parameter (value, gradient, two moments in float32), and not more
// than 10 % beside that and the activations.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include <lockstep/optim/adam.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;

namespace {

/// A line of /proc/self/status in bytes: VmRSS is what is resident now, VmHWM the most ever.
std::int64_t resident_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == name + ":") {
      std::int64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * ls::KiB;
    }
  return 0;
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace

TEST_CASE("peak memory is 16 bytes per parameter, activations, and 10 %") {
  constexpr std::int64_t kWidth = 4096;
  constexpr std::int64_t kRows = 8;
  constexpr std::int64_t kParameters = 2 * kWidth * (kWidth + 1);
  constexpr std::int64_t kActivations = 10 * kRows * kWidth * 4;
  const ls::Tensor inputs = ls::randn({kRows, kWidth});
  {  // The libraries' own buffers.
    const ls::nn::Linear small{512, 512};
    ls::sum(small(ls::full({64, 512}, 1))).backward();
    test_environment().ranks().barrier();
  }
  forget_peak();
  const std::int64_t before = resident_bytes("VmHWM");
  REQUIRE(before > 0);

  ls::nn::Sequential model{ls::nn::Linear{kWidth, kWidth}, ls::nn::ReLU{},
                           ls::nn::Linear{kWidth, kWidth}};
  ls::DataParallel replica{model, test_environment()};
  ls::optim::Adam adam{replica.parameters()};
  for (int step = 0; step < 3; ++step) {
    adam.zero_grad();
    ls::mean(replica(inputs)).backward();
    adam.step();
  }
  const std::int64_t peak = resident_bytes("VmHWM") - before;
  INFO("peak " << peak / ls::MiB << " MiB, " << static_cast<double>(peak) / kParameters
               << " bytes per parameter");
  CHECK(peak <= (16 * kParameters + kActivations) * 11 / 10);
  CHECK(peak >= 16 * kParameters * 9 / 10);  // the measurement itself
}
