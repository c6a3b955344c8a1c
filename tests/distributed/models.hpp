// Small models and helpers of the distributed tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/nn/activation.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

#include "support/test_environment.hpp"

namespace models {

namespace ls = lockstep;

/// One scalar weight; the loss of a sample is w * x, so its gradient is x.
struct OneWeight {
  ls::Parameter w;

  OneWeight() : OneWeight(1) {}
  explicit OneWeight(double value, ls::DType dtype = ls::DType::float32)
      : w(ls::full({}, value, dtype)) {}
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("w", w);
  }
  ls::Tensor operator()(double x) const { return w.value() * x; }
};

/// Two scalar weights; the loss a * x + b * y has the gradients x and y. A zero leaves its weight
/// out of the graph.
struct TwoWeights {
  ls::Parameter a{ls::full({}, 1.0)};
  ls::Parameter b{ls::full({}, 1.0)};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("a", a);
    visitor("b", b);
  }
  ls::Tensor operator()(double x, double y) const {
    if (y == 0) return a.value() * x;
    if (x == 0) return b.value() * y;
    return a.value() * x + b.value() * y;
  }
};

inline auto small_network(ls::DType dtype = ls::DType::float64) {
  const ls::nn::LinearOptions options{.dtype = dtype};
  return ls::nn::Sequential{ls::nn::Linear{6, 9, options}, ls::nn::ReLU{},
                            ls::nn::Linear{9, 5, options}, ls::nn::ReLU{},
                            ls::nn::Linear{5, 3, options}};
}

/// A batch of (count, 6) inputs and labels below 3; the same numbers on every rank.
struct Samples {
  ls::Tensor inputs;
  std::vector<std::int64_t> labels;

  Samples(std::int64_t count, std::uint64_t stream) {
    ls::Generator generator{21, stream};
    inputs = uniform({count, 6}, -1, 1, ls::DType::float64, generator);
    for (std::int64_t i = 0; i < count; ++i)
      labels.push_back(static_cast<std::int64_t>(generator.below(3)));
  }
  ls::Tensor rows(std::int64_t first, std::int64_t count) const {
    const std::span<const double> values(inputs.data<double>() + first * 6,
                                         static_cast<std::size_t>(count * 6));
    return ls::tensor(values, {count, 6});
  }
  ls::Tensor labels_of(std::int64_t first, std::int64_t count) const {
    const std::span<const std::int64_t> values(labels.data() + first,
                                               static_cast<std::size_t>(count));
    return ls::tensor(values, {count});
  }
};

/// The bytes of all parameters, one after the other.
inline std::string weight_bytes(const ls::ParameterList& parameters) {
  std::string bytes;
  for (const auto& [name, parameter] : parameters) {
    const ls::Tensor value = parameter.value().detach().to(ls::Device::cpu());
    bytes.append(static_cast<const char*>(value.raw_data()),
                 static_cast<std::size_t>(value.byte_count()));
  }
  return bytes;
}

/// Collective: whether every rank brings the same bytes.
inline bool same_on_all_ranks(const std::string& bytes) {
  for (const std::string& other : test_environment().ranks().gather_bytes(bytes))
    if (other != bytes) return false;
  return true;
}

inline double number(const ls::Tensor& scalar) {
  return scalar.to(ls::DType::float64).item<double>();
}
inline double gradient(const ls::Parameter& parameter) { return number(parameter.gradient()); }

}  // namespace models
