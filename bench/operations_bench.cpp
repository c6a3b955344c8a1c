// How long do operations on rows take, forward and backward? One thread, float32.
//
// bench/peers/pytorch_operations.py says the same of PyTorch; bench/compare.sh runs both in turns.
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/result.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace ls = lockstep;

namespace {

struct Operation {
  const char* name;
  ls::Tensor (*apply)(const ls::Tensor& x);
};

const Operation kOperations[] = {
    {"gelu", [](const ls::Tensor& x) { return ls::gelu(x); }},
    {"gelu_tanh", [](const ls::Tensor& x) { return ls::gelu_tanh(x); }},
    {"softmax", [](const ls::Tensor& x) { return ls::softmax(x); }},
    {"log_softmax", [](const ls::Tensor& x) { return ls::log_softmax(x); }},
    {"layer_norm",
     [](const ls::Tensor& x) {
       const std::int64_t columns = x.shape()[-1];
       static thread_local ls::Tensor weight, bias;
       if (!weight.defined() || weight.dtype() != x.dtype() || weight.shape()[0] != columns) {
         weight = ls::full({columns}, 1, x.dtype()).set_requires_grad(true);
         bias = ls::zeros({columns}, x.dtype()).set_requires_grad(true);
       }
       return ls::layer_norm(x, {columns}, weight, bias);
     }},
};

struct Problem {
  ls::Tensor x, gradient;
};

Problem make_problem(std::int64_t rows, std::int64_t columns, ls::DType dtype) {
  ls::Generator generator(1);
  Problem problem{ls::uniform({rows, columns}, -1, 1, dtype, generator),
                  ls::uniform({rows, columns}, -1, 1, dtype, generator)};
  problem.x.set_requires_grad(true);
  return problem;
}

void run(const Operation& operation, Problem& problem) {
  problem.x.zero_gradient();
  operation.apply(problem.x).backward(problem.gradient);
}

/// Elements of a small gradient that central differences do not agree with.
std::int64_t count_wrong(const Operation& operation) {
  constexpr double kStep = 1e-5;
  Problem problem = make_problem(2, 8, ls::DType::float64);
  run(operation, problem);
  const auto loss = [&](std::int64_t at, double change) {
    ls::Tensor x = problem.x.detach().clone();
    x.mutable_data<double>()[at] += change;
    return ls::sum(operation.apply(x) * problem.gradient).item();
  };
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < problem.x.element_count(); ++i) {
    const double expected = (loss(i, kStep) - loss(i, -kStep)) / (2 * kStep);
    wrong += std::fabs(problem.x.gradient().data<double>()[i] - expected) <= 1e-8 ? 0 : 1;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  bench::prefer_one_thread();
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cpu}, [&](ls::Environment& env) {
    bench::Options options;
    std::int64_t rows = 4096, columns = 1024;
    CLI::App app{"Measures operations on rows, forward and backward.", "operations_bench"};
    bench::add_options(app, options);
    app.add_option("--rows", rows, "of the matrix")->check(common::whole_number_from(1));
    app.add_option("--columns", columns, "of the matrix")->check(common::whole_number_from(1));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    Problem problem = make_problem(rows, columns, ls::DType::float32);
    std::vector<bench::Subject> subjects;
    for (const Operation& operation : kOperations)
      subjects.push_back({operation.name, [&] { run(operation, problem); }});
    bench::measure_in_turns(subjects, options.repetitions);

    bench::Report report(
        env, "operations",
        {{"repetitions", options.repetitions}, {"rows", rows}, {"columns", columns}});
    common::ResultLine result;
    std::int64_t all_wrong = 0;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      const double seconds = bench::median_seconds(subjects[i]);
      const std::int64_t wrong = count_wrong(kOperations[i]);
      report.add({{"what", subjects[i].name},
                  {"us", seconds * 1e6},
                  {"elements/s", static_cast<double>(rows * columns) / seconds},
                  {"#wrong", wrong}});
      result.add(subjects[i].name + "_us", seconds * 1e6, 1);
      all_wrong += wrong;
    }
    report.write(options.json);
    env.print(result.add("wrong", all_wrong).text());
    return all_wrong == 0 ? 0 : 1;
  });
}
