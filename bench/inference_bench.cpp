// What does a prediction for one sample cost beyond its two matrix-vector products?
//
// The model of examples/fashion_mnist, 784-512-10, without the tape. Bare: the two calls of the
// BLAS, without bias and activation, into memory that is there. One thread.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "blas.hpp"
#include "common/result.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace ls = lockstep;

namespace {

using namespace bench::blas;

constexpr int kInputs = 784;
constexpr int kHidden = 512;
constexpr int kClasses = 10;

using Model = ls::nn::Sequential<ls::nn::Linear, ls::nn::ReLU, ls::nn::Linear>;

/// What the bare calls read and write.
struct Bare {
  const float *x, *first, *second;
  std::vector<float> hidden = std::vector<float>(kHidden), result = std::vector<float>(kClasses);

  void multiply_first() {
    cblas_sgemv(kRowMajor, kPlain, kHidden, kInputs, 1, first, kInputs, x, 1, 0, hidden.data(), 1);
  }
  void multiply_second() {
    cblas_sgemv(kRowMajor, kPlain, kClasses, kHidden, 1, second, kHidden, hidden.data(), 1, 0,
                result.data(), 1);
  }
};

/// Outputs that the products and loops by hand do not agree with.
std::int64_t count_wrong(const Model& model, const ls::Tensor& x, Bare bare) {
  bare.multiply_first();
  const auto* bias = model.layer<0>().bias().value().data<float>();
  for (std::size_t i = 0; i < kHidden; ++i)
    bare.hidden[i] = std::max(0.0F, bare.hidden[i] + bias[i]);
  bare.multiply_second();
  const ls::Tensor found = model(x);
  const auto* second_bias = model.layer<2>().bias().value().data<float>();
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < kClasses; ++i)
    wrong += std::fabs(found.data<float>()[i] - bare.result[i] - second_bias[i]) <= 1e-5F ? 0 : 1;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  bench::prefer_one_thread();
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cpu}, [&](ls::Environment& env) {
    bench::Options options;
    CLI::App app{"Measures predictions for one sample beside bare calls of the BLAS.",
                 "inference_bench"};
    bench::add_options(app, options);
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    const Model model{ls::nn::Linear{kInputs, kHidden}, ls::nn::ReLU{},
                      ls::nn::Linear{kHidden, kClasses}};
    const ls::Tensor x = ls::randn({1, kInputs});
    Bare bare{x.data<float>(), model.layer<0>().weight().value().data<float>(),
              model.layer<2>().weight().value().data<float>()};
    const ls::NoGrad no_grad;
    const std::int64_t wrong = count_wrong(model, x, bare);
    std::array<bench::Subject, 2> subjects{
        {{"lockstep", [&] { model(x); }}, {"GEMV", [&] {
                                             bare.multiply_first();
                                             bare.multiply_second();
                                           }}}};
    bench::measure_in_turns(subjects, options.repetitions);

    bench::Report report(env, "inference", {{"repetitions", options.repetitions}});
    for (const auto& subject : subjects)
      report.add({{"what", subject.name},
                  {"us", bench::median_seconds(subject) * 1e6},
                  {"to GEMV", bench::median_ratio(subject, subjects.back())},
                  {"#wrong", wrong}});
    report.write(options.json);
    env.print(common::ResultLine{}
                  .add("wrong", wrong)
                  .add("inference_over_gemv", bench::median_ratio(subjects[0], subjects[1]), 3)
                  .text());
    return wrong == 0 ? 0 : 1;
  });
}
