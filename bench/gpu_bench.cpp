// How near does one GPU come to its own limits: Adam to the bandwidth of a copy within the device,
// and linear layers to the rate of its matrix units?
//
// Times are of many calls between two synchronizations, launches included. Adam moves 28 bytes per
// parameter, a copy 8 per float, a linear layer takes 2 rows in out operations. Results are checked
// on inputs for which they are known.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/interop/cuda.hpp>
#include <lockstep/lockstep.hpp>

#include "common/result.hpp"
#include "report.hpp"

namespace ls = lockstep;

namespace {

constexpr double kSecondsPerMeasurement = 0.03;

void wait(ls::Device device) {
  const cudaError_t status = cudaStreamSynchronize(ls::cuda::current_stream(device.index));
  if (status != cudaSuccess) throw ls::DeviceError(cudaGetErrorString(status), status);
}

double seconds_of(const std::function<void()>& call, std::int64_t calls, ls::Device device) {
  wait(device);
  const common::Stopwatch watch;
  for (std::int64_t i = 0; i < calls; ++i) call();
  wait(device);
  return watch.seconds() / static_cast<double>(calls);
}

/// Seconds of one call, the median of the repetitions.
double measure(const std::function<void()>& call, int repetitions, ls::Device device) {
  seconds_of(call, 2, device);
  const double once = seconds_of(call, 1, device);
  const auto calls = std::clamp(static_cast<std::int64_t>(kSecondsPerMeasurement / once),
                                std::int64_t{1}, std::int64_t{1000});
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) seconds.push_back(seconds_of(call, calls, device));
  return common::median(seconds);
}

std::int64_t count_wrong(const ls::Tensor& values, double expected) {
  std::int64_t wrong = 0;
  for (const float value : values.to(ls::DType::float32).to_vector())
    wrong += std::fabs(value - expected) <= 1e-6 ? 0 : 1;
  return wrong;
}

bench::Row row(const std::string& what, std::int64_t size, double seconds, double rate,
               const char* unit, const bench::Row& to_copy, std::int64_t wrong) {
  return {{"what", what}, {"size", size},       {"us", seconds * 1e6}, {"rate", rate},
          {"unit", unit}, {"to copy", to_copy}, {"#wrong", wrong}};
}

struct Totals {
  std::int64_t wrong = 0;
  double adam_to_copy = 0, best_tflops = 0;  // of the largest size; of all
};

void add_adam(bench::Report& report, std::int64_t count, int repetitions, ls::Device device,
              Totals& totals) {
  constexpr double kRate = 0.125;
  ls::Parameter weight{ls::zeros({count}, ls::DType::float32, device)};
  ls::ParameterList list;
  list.push_back({"weight", weight.share()});
  ls::optim::Adam adam{list, {.learning_rate = kRate}};
  ls::sum(weight).backward();
  adam.step();  // with a gradient of 1 everywhere the first step subtracts the learning rate
  const std::int64_t wrong = count_wrong(weight.value(), -kRate);
  const double step = measure([&] { adam.step(); }, repetitions, device);
  const ls::Tensor source = ls::full({count}, 1, ls::DType::float32, device);
  ls::Tensor destination = ls::empty({count}, ls::DType::float32, device);
  const double copy = measure([&] { destination.copy_from(source); }, repetitions, device);
  const double adam_rate = 28e-9 * static_cast<double>(count) / step;
  const double copy_rate = 8e-9 * static_cast<double>(count) / copy;
  const std::int64_t wrong_copies = count_wrong(destination, 1);
  totals.wrong += wrong + wrong_copies;
  totals.adam_to_copy = adam_rate / copy_rate;
  report.add(row("copy", count, copy, copy_rate, "GB/s", 1.0, wrong_copies));
  report.add(row("adam", count, step, adam_rate, "GB/s", totals.adam_to_copy, wrong));
}

struct Precision {
  const char* name;
  ls::DType dtype;
  bool tf32;
};
constexpr Precision kPrecisions[] = {{"float32", ls::DType::float32, false},
                                     {"TF32", ls::DType::float32, true},
                                     {"float64", ls::DType::float64, false}};

/// x has ones, the weight 1/4 and the bias 0: every element of the result is n / 4.
void add_linear(bench::Report& report, std::int64_t n, const Precision& precision, int repetitions,
                ls::Device device, Totals& totals) {
  ls::cuda::allow_tf32(precision.tf32);
  const ls::Tensor bias = ls::zeros({n}, precision.dtype, device);
  ls::Tensor x = ls::full({n, n}, 1, precision.dtype, device);
  ls::Tensor weight = ls::full({n, n}, 0.25, precision.dtype, device);
  const auto wrong = count_wrong(ls::linear(x, weight, bias), static_cast<double>(n) / 4);
  ls::Generator generator(1);  // the units take more power, and are slower, on unlike numbers
  x = ls::uniform({n, n}, -1, 1, precision.dtype, generator, device);
  weight = ls::uniform({n, n}, -1, 1, precision.dtype, generator, device);
  const double seconds = measure([&] { ls::linear(x, weight, bias); }, repetitions, device);
  const double rate = 2e-12 * std::pow(static_cast<double>(n), 3) / seconds;
  totals.wrong += wrong;
  totals.best_tflops = std::max(totals.best_tflops, rate);
  report.add(row(std::string("linear ") + precision.name, n, seconds, rate, "TFLOP/s", "", wrong));
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cuda}, [&](ls::Environment& env) {
    bench::Options options;
    std::int64_t parameters = 64 * 1024 * 1024;
    std::int64_t largest = 8192;
    CLI::App app{"Measures Adam and linear layers on one GPU.", "gpu_bench"};
    bench::add_options(app, options);
    app.add_option("--parameters", parameters, "the most parameters that Adam updates")
        ->check(common::whole_number_from(16));
    app.add_option("--largest", largest, "rows and columns of the largest linear layer")
        ->check(common::whole_number_from(16));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    bench::Report report(env, "gpu", {{"repetitions", options.repetitions}});
    Totals totals;
    for (const std::int64_t count : {parameters / 16, parameters / 4, parameters})
      add_adam(report, count, options.repetitions, env.device(), totals);
    for (const Precision& precision : kPrecisions)
      for (std::int64_t n = std::max<std::int64_t>(16, largest / 8); n <= largest; n *= 2)
        add_linear(report, n, precision, options.repetitions, env.device(), totals);
    report.write(options.json);
    env.print(common::ResultLine{}
                  .add("device", to_string(env.device()))
                  .add("wrong", totals.wrong)
                  .add("adam_to_copy", totals.adam_to_copy, 3)
                  .add("best_tflops", totals.best_tflops, 2)
                  .text());
    return totals.wrong == 0 ? 0 : 1;
  });
}
