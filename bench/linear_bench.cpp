// What does a linear layer, forward and backward, cost beyond its three matrix products?
//
// Bare: the three calls of the BLAS for y = x W^T, dx = g W and dW = g^T x, into memory that is
// there. Lockstep adds the bias and its gradient, and records the tape. One thread, float32.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <lockstep/lockstep.hpp>

#include "blas.hpp"
#include "common/result.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace ls = lockstep;

namespace {

using namespace bench::blas;

struct Shape {
  int rows;
  int in;
  int out;
};

struct Layer {
  ls::Tensor x, weight, bias, gradient;
};

Layer make_layer(const Shape& shape) {
  ls::Generator generator(1);
  const auto random = [&generator](const ls::Shape& sizes) {
    return ls::uniform(sizes, -1, 1, ls::DType::float32, generator);
  };
  Layer layer{random({shape.rows, shape.in}), random({shape.out, shape.in}), random({shape.out}),
              random({shape.rows, shape.out})};
  for (ls::Tensor* leaf : {&layer.x, &layer.weight, &layer.bias}) leaf->set_requires_grad(true);
  return layer;
}

void run_lockstep(Layer& layer) {
  for (ls::Tensor* leaf : {&layer.x, &layer.weight, &layer.bias}) leaf->zero_gradient();
  ls::linear(layer.x, layer.weight, layer.bias).backward(layer.gradient);
}

/// What the bare calls read and write.
struct Bare {
  Shape shape;
  const float *x, *weight, *gradient;
  ls::Tensor y, dx, dweight;

  void run() {
    const auto [rows, in, out] = shape;
    cblas_sgemm(kRowMajor, kPlain, kTransposed, rows, out, in, 1, x, in, weight, in, 0,
                y.mutable_data<float>(), out);
    cblas_sgemm(kRowMajor, kTransposed, kPlain, out, in, rows, 1, gradient, out, x, in, 0,
                dweight.mutable_data<float>(), in);
    cblas_sgemm(kRowMajor, kPlain, kPlain, rows, in, out, 1, gradient, out, weight, in, 0,
                dx.mutable_data<float>(), in);
  }
};

std::int64_t count_unlike(const ls::Tensor& found, const ls::Tensor& expected) {
  std::int64_t unlike = 0;
  for (std::int64_t i = 0; i < found.element_count(); ++i) {
    const float a = found.data<float>()[i], b = expected.data<float>()[i];
    unlike += std::fabs(a - b) <= 1e-4F * (1 + std::fabs(b)) ? 0 : 1;
  }
  return unlike;
}

struct Measured {
  double ratio = 0;  // of lockstep's rate to that of the bare calls
  std::int64_t wrong = 0;
};

Measured measure_shape(bench::Report& report, const Shape& shape, int repetitions) {
  Layer layer = make_layer(shape);
  Bare bare{shape,
            layer.x.data<float>(),
            layer.weight.data<float>(),
            layer.gradient.data<float>(),
            ls::empty({shape.rows, shape.out}),
            ls::empty({shape.rows, shape.in}),
            ls::empty({shape.out, shape.in})};
  run_lockstep(layer);
  bare.run();
  Measured measured;
  measured.wrong = count_unlike(ls::linear(layer.x.detach(), layer.weight.detach()), bare.y) +
                   count_unlike(layer.x.gradient(), bare.dx) +
                   count_unlike(layer.weight.gradient(), bare.dweight);

  std::array<bench::Subject, 2> subjects{
      {{"lockstep", [&layer] { run_lockstep(layer); }}, {"BLAS", [&bare] { bare.run(); }}}};
  bench::measure_in_turns(subjects, repetitions);
  measured.ratio = bench::median_ratio(subjects[1], subjects[0]);
  for (const auto& subject : subjects) {
    const double seconds = bench::median_seconds(subject);
    report.add({{"rows", shape.rows},
                {"what", subject.name},
                {"us", seconds * 1e6},
                {"GFLOP/s", 6e-9 * shape.rows * shape.in * shape.out / seconds},
                {"to BLAS", &subject == subjects.data() ? measured.ratio : 1.0},
                {"#wrong", measured.wrong}});
  }
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  bench::prefer_one_thread();
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cpu}, [&](ls::Environment& env) {
    bench::Options options;
    int smallest = 32, largest = 4096, features = 1024;
    CLI::App app{"Measures linear layers beside bare calls of the BLAS.", "linear_bench"};
    bench::add_options(app, options);
    app.add_option("--smallest", smallest, "rows of the smallest batch")
        ->check(common::whole_number_from(1));
    app.add_option("--largest", largest, "rows of the largest batch")
        ->check(common::whole_number_from(1));
    app.add_option("--features", features, "in and out")->check(common::whole_number_from(1));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    bench::Report report(env, "linear",
                         {{"repetitions", options.repetitions}, {"features", features}});
    Measured worst{.ratio = INFINITY};
    for (int rows = smallest; rows <= largest; rows *= 2) {
      const auto measured = measure_shape(report, {rows, features, features}, options.repetitions);
      worst.ratio = std::min(worst.ratio, measured.ratio);
      worst.wrong += measured.wrong;
    }
    report.write(options.json);
    env.print(common::ResultLine{}
                  .add("wrong", worst.wrong)
                  .add("linear_over_blas", worst.ratio, 3)
                  .text());
    return worst.wrong == 0 ? 0 : 1;
  });
}
