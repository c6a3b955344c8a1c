// A small network and steps of training it, the same on any device.
#pragma once

#include <cstdint>
#include <vector>

#include "parity/functions.hpp"

namespace parity {

/// The layer that these numbers give, on the device.
inline ls::nn::Linear layer_on(ls::Device device, ls::DType dtype, std::int64_t in,
                               std::int64_t out, ls::Generator& generator) {
  const ls::nn::Linear host(in, out, generator, {.dtype = dtype});
  const auto moved = [&](const ls::Parameter& parameter) {
    return ls::Parameter(parameter.value().detach().clone().to(device));
  };
  return ls::nn::Linear(moved(host.weight()), moved(host.bias()));
}

/// For Adam: so large that a gradient of which only rounding is left moves its parameter by little.
inline constexpr double kEpsilon = 1e-4;

/// 13 inputs, 5 classes. `extra` takes part in every third step only.
struct Network {
  ls::nn::Sequential<ls::nn::Linear, ls::nn::GELU, ls::nn::Linear, ls::nn::ReLU> body;
  ls::nn::Linear extra;
  ls::nn::Linear head;

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("body", body);
    visitor("extra", extra);
    visitor("head", head);
  }
  ls::Tensor operator()(const ls::Tensor& x, bool with_extra) const {
    const ls::Tensor hidden = body(x);
    return head(with_extra ? hidden + extra(hidden) : hidden);
  }
};

inline Network make_network(ls::Device device, ls::DType dtype) {
  ls::Generator generator{21};
  const auto layer = [&](std::int64_t in, std::int64_t out) {
    return layer_on(device, dtype, in, out, generator);
  };
  auto first = layer(13, 17);
  auto second = layer(17, 31);
  auto extra = layer(31, 31);
  auto head = layer(31, 5);
  return {{std::move(first), {}, std::move(second), {}}, std::move(extra), std::move(head)};
}

/// The batch of a step: 11 rows.
inline ls::data::Batch batch_of(std::int64_t step, ls::Device device, ls::DType dtype) {
  const auto seed = static_cast<std::uint64_t>(step);
  const ls::Tensor inputs = random_tensor({11, 13}, dtype, 1000 + seed);
  std::vector<std::int64_t> labels(11);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int64_t>((i * 7 + seed * 3) % 5);
  return {inputs.to(device), ls::tensor(labels, {11}, device), 11};
}

/// All parameters as they are now.
template <class T>
std::vector<std::vector<T>> parameter_values(Network& network) {
  std::vector<std::vector<T>> values;
  for (const auto& named : ls::parameters(network))
    values.push_back(named.parameter.value().template to_vector<T>());
  return values;
}

}  // namespace parity
