// A differentiable operation of the program's own: a forward and a backward function, made into
// something that is called like any other operation and recorded on the tape.
//
// backward gets the gradient of the result, the result, and the inputs, and returns one gradient
// per input. What it is given counts as saved: writing over it before backward is an error.
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

/// log(1 + exp(a)) * b, elementwise, float64.
ls::Tensor soft_gate(const ls::Tensor& a, const ls::Tensor& b) {
  ls::Tensor result = ls::empty(a.shape(), a.dtype());
  double* out = result.mutable_data<double>();
  for (std::int64_t i = 0; i < a.element_count(); ++i)
    out[i] = std::log1p(std::exp(a.data<double>()[i])) * b.data<double>()[i];
  return result;
}

std::pair<ls::Tensor, ls::Tensor> soft_gate_backward(const ls::Tensor& gradient, const ls::Tensor&,
                                                     const ls::Tensor& a, const ls::Tensor& b) {
  ls::Tensor a_gradient = ls::empty(a.shape(), a.dtype());
  ls::Tensor b_gradient = ls::empty(b.shape(), b.dtype());
  double* da = a_gradient.mutable_data<double>();
  double* db = b_gradient.mutable_data<double>();
  for (std::int64_t i = 0; i < a.element_count(); ++i) {
    const double g = gradient.data<double>()[i];
    const double x = a.data<double>()[i];
    da[i] = g * b.data<double>()[i] / (1 + std::exp(-x));
    db[i] = g * std::log1p(std::exp(x));
  }
  return {a_gradient, b_gradient};
}

}  // namespace

int main() {
  const auto gate = ls::operation(soft_gate, soft_gate_backward);

  ls::Parameter a{ls::tensor({-1.0, 0.0, 2.0}, {3})};
  ls::Parameter b{ls::tensor({0.5, -1.5, 3.0}, {3})};
  ls::sum(2.0 * gate(a, b)).backward();

  const auto a_gradient = a.gradient().to_vector<double>();
  const auto b_gradient = b.gradient().to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) {
    const double x = a.value().data<double>()[i];
    const double da = 2.0 * b.value().data<double>()[i] / (1 + std::exp(-x));
    const double db = 2.0 * std::log1p(std::exp(x));
    if (std::abs(a_gradient[i] - da) > 1e-14 || std::abs(b_gradient[i] - db) > 1e-14) {
      std::fprintf(stderr, "element %zu: %g and %g, not %g and %g\n", i, a_gradient[i],
                   b_gradient[i], da, db);
      return 1;
    }
  }
  return 0;
}
