// What does the tape cost per operation, forward and backward together, beyond the arithmetic?
//
// A chain of operations on tensors of a few elements, beside the same arithmetic in plain loops,
// which also says what the gradients are. Once it has run, a pass asks the system for no memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "allocation_count.hpp"
#include "common/result.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace ls = lockstep;

namespace {

constexpr int kElements = 8;
constexpr float kFactor = 0.999F;
constexpr float kShift = 0.001F;

using Values = std::array<float, kElements>;

/// x + shift, x * scale, relu(x), x * number, in turns; then the sum. x and scale want gradients.
struct Chain {
  std::int64_t operations;
  ls::Tensor x = ls::full({kElements}, 0.5).set_requires_grad(true);
  ls::Tensor scale = ls::full({kElements}, 1).set_requires_grad(true);
  ls::Tensor shift = ls::full({kElements}, kShift);

  void run() {
    x.zero_gradient();
    scale.zero_gradient();
    ls::Tensor value = x;
    for (std::int64_t i = 0; i < operations; ++i) value = next(i % 4, value);
    ls::sum(value).backward();
  }

 private:
  ls::Tensor next(std::int64_t kind, const ls::Tensor& value) const {
    switch (kind) {
      case 0:
        return value + shift;
      case 1:
        return value * scale;
      case 2:
        return ls::relu(value);
      default:
        return value * static_cast<double>(kFactor);
    }
  }
};

/// The same by hand.
struct Arithmetic {
  std::int64_t operations;
  std::vector<Values> values = std::vector<Values>(static_cast<std::size_t>(operations) + 1);
  Values gradient = {}, scale_gradient = {};

  void run() {
    values[0].fill(0.5F);
    for (std::size_t i = 0; i + 1 < values.size(); ++i)
      for (int e = 0; e < kElements; ++e) values[i + 1][e] = next(i % 4, values[i][e]);
    gradient.fill(1);
    scale_gradient.fill(0);
    for (std::size_t i = values.size() - 1; i-- > 0;)
      for (int e = 0; e < kElements; ++e) back(i, e);
  }

 private:
  static float next(std::size_t kind, float value) {
    if (kind == 0) return value + kShift;
    if (kind == 1) return value * 1.0F;
    return kind == 2 ? std::max(value, 0.0F) : value * kFactor;
  }
  void back(std::size_t i, int e) {
    if (i % 4 == 1) scale_gradient[e] += gradient[e] * values[i][e];
    if (i % 4 == 2 && !(values[i + 1][e] > 0)) gradient[e] = 0;
    if (i % 4 == 3) gradient[e] *= kFactor;
  }
};

std::int64_t count_unlike(const ls::Tensor& found, const Values& expected) {
  std::int64_t unlike = 0;
  for (int e = 0; e < kElements; ++e)
    unlike +=
        std::fabs(found.data<float>()[e] - expected[e]) <= 1e-4F * std::fabs(expected[e]) ? 0 : 1;
  return unlike;
}

struct Measured {
  double microseconds = 0;  // per operation, beyond the arithmetic
  std::int64_t allocations = 0, wrong = 0;
};

Measured measure_chain(bench::Report& report, std::int64_t operations, int repetitions) {
  Chain chain{operations};
  Arithmetic arithmetic{operations};
  std::array<bench::Subject, 2> subjects{
      {{"tape", [&chain] { chain.run(); }}, {"arithmetic", [&arithmetic] { arithmetic.run(); }}}};
  bench::measure_in_turns(subjects, repetitions);
  const std::int64_t before = bench::allocation_count();
  chain.run();
  const std::int64_t allocations = bench::allocation_count() - before;
  const double per_operation = 1e6 / static_cast<double>(operations);
  const double whole = bench::median_seconds(subjects[0]) * per_operation;
  const double bare = bench::median_seconds(subjects[1]) * per_operation;
  const Measured measured{
      .microseconds = whole - bare,
      .allocations = allocations,
      .wrong =
          count_unlike(chain.x.gradient(), arithmetic.gradient) +
          (operations > 1 ? count_unlike(chain.scale.gradient(), arithmetic.scale_gradient) : 0)};
  report.add({{"operations", operations},
              {"us each", whole},
              {"arithmetic", bare},
              {"beyond", measured.microseconds},
              {"allocations", measured.allocations},
              {"#wrong", measured.wrong}});
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  bench::prefer_one_thread();
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cpu}, [&](ls::Environment& env) {
    bench::Options options;
    std::int64_t operations = 1000;
    CLI::App app{"Measures what the tape costs per operation.", "tape_bench"};
    bench::add_options(app, options);
    app.add_option("--operations", operations, "of the longest chain, which the result is about")
        ->check(common::whole_number_from(1));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    bench::Report report(env, "tape",
                         {{"repetitions", options.repetitions}, {"elements", kElements}});
    Measured last;
    std::int64_t allocations = 0, wrong = 0;
    for (const std::int64_t part : {100, 10, 1}) {
      last =
          measure_chain(report, std::max<std::int64_t>(1, operations / part), options.repetitions);
      allocations += last.allocations;
      wrong += last.wrong;
    }
    report.write(options.json);
    env.print(common::ResultLine{}
                  .add("wrong", wrong)
                  .add("microseconds_per_operation", last.microseconds, 3)
                  .add("system_allocations", allocations)
                  .text());
    return wrong == 0 ? 0 : 1;
  });
}
