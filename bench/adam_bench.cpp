// How near does a step of Adam come to the bandwidth of the memory, as STREAM's triad finds it?
//
// Counted is what crosses the memory's bus for one float32: 28 bytes for Adam, which reads value,
// gradient and two moments and writes all but the gradient; 16 for the triad a = b + s c, which
// reads b, c, and the lines of a before it writes them. The ratio is Adam's bytes per second to the
// triad's, of arrays as long. One thread.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/result.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace ls = lockstep;

namespace {

constexpr double kAdamBytes = 28;
constexpr double kTriadBytes = 16;
constexpr double kLearningRate = 0.125;

// As wide as the machine can, as the loop of Adam is.
[[gnu::target_clones("avx512f", "avx2", "default")]] void triad(float* a, const float* b,
                                                                const float* c, float factor,
                                                                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + factor * c[i];
}

std::int64_t count_other(const ls::Tensor& values, float expected) {
  const auto* elements = values.data<float>();
  return std::count_if(elements, elements + values.element_count(), [expected](float element) {
    return !(std::fabs(element - expected) <= 1e-6F);
  });
}

struct Size {
  std::array<bench::Subject, 2> subjects;  // Adam, triad
  std::int64_t wrong = 0;
};

Size measure_size(std::int64_t count, int repetitions) {
  ls::Parameter weight{ls::zeros({count})};
  ls::ParameterList list;
  list.push_back({"weight", weight.share()});
  ls::optim::Adam adam{list, {.learning_rate = kLearningRate}};
  ls::sum(weight).backward();
  adam.step();  // with a gradient of 1 everywhere the first step subtracts the learning rate
  Size size{.subjects = {}, .wrong = count_other(weight.value(), -kLearningRate)};

  ls::Tensor a = ls::empty({count});
  const ls::Tensor b = ls::full({count}, 1), c = ls::full({count}, 2);
  const auto run_triad = [out = a.mutable_data<float>(), b = b.data<float>(), c = c.data<float>(),
                          count] { triad(out, b, c, 0.5F, count); };
  size.subjects = {{{"adam", [&adam] { adam.step(); }}, {"triad", run_triad}}};
  bench::measure_in_turns(size.subjects, repetitions);
  size.wrong += count_other(a, 2);
  return size;
}

double add_rows(bench::Report& report, const Size& size, std::int64_t count) {
  const auto& [adam, triad] = size.subjects;
  const double ratio = kAdamBytes / kTriadBytes * bench::median_ratio(triad, adam);
  for (const auto& subject : size.subjects) {
    const double bytes = &subject == &adam ? kAdamBytes : kTriadBytes;
    const double seconds = bench::median_seconds(subject);
    report.add({{"parameters", count},
                {"what", subject.name},
                {"us", seconds * 1e6},
                {"GB/s", bytes * static_cast<double>(count) / seconds * 1e-9},
                {"to triad", &subject == &adam ? ratio : 1.0},
                {"#wrong", size.wrong}});
  }
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  bench::prefer_one_thread();
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cpu}, [&](ls::Environment& env) {
    bench::Options options;
    std::int64_t parameters = 10'000'000;
    CLI::App app{"Measures Adam beside the triad of STREAM.", "adam_bench"};
    bench::add_options(app, options);
    app.add_option("--parameters", parameters,
                   "of the result line; a tenth and ten times as many are measured too")
        ->check(common::whole_number_from(10));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    bench::Report report(env, "adam", {{"repetitions", options.repetitions}});
    std::vector<double> ratios;
    std::int64_t wrong = 0;
    for (const std::int64_t count : {parameters / 10, parameters, parameters * 10}) {
      const Size size = measure_size(count, options.repetitions);
      ratios.push_back(add_rows(report, size, count));
      wrong += size.wrong;
    }
    report.write(options.json);
    env.print(common::ResultLine{}
                  .add("parameters", parameters)
                  .add("wrong", wrong)
                  .add("adam_over_triad", ratios[1], 3)
                  .text());
    return wrong == 0 ? 0 : 1;
  });
}
