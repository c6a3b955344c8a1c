// Compares operations, forward and backward, with golden values.
#pragma once

#include <catch2/catch.hpp>
#include <functional>

#include <lockstep/core/operations.hpp>

#include "golden/golden.hpp"

namespace golden {

using Tensors = std::vector<ls::Tensor>;
/// Calls the operation that a case is of.
using Call = std::function<ls::Tensor(const Case&, const Tensors& inputs)>;

inline ls::Reduction reduction_of(const Case& expected) {
  return expected.options.at("reduction") == "sum" ? ls::Reduction::sum : ls::Reduction::mean;
}

inline Tensors leaves(const Case& expected, ls::DType dtype) {
  Tensors inputs;
  for (const Values& values : expected.inputs) {
    inputs.push_back(values.tensor(dtype));
    inputs.back().set_requires_grad(true);
  }
  return inputs;
}

/// Values and gradients of every case in float32 and float64.
inline void check_operations(const std::vector<Case>& cases, const Call& call) {
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64})
    for (const Case& expected : cases) {
      INFO(expected.name << " " << name(dtype));
      const Results& results = expected.results(dtype);
      const Tensors inputs = leaves(expected, dtype);
      const ls::Tensor output = call(expected, inputs);
      CHECK(output.dtype() == dtype);
      CHECK(difference(output, results.outputs[0], tolerance(dtype)) == "");

      output.backward(expected.upstream[0].tensor(dtype));
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        INFO("gradient of input " << i);
        CHECK(difference(inputs[i].gradient(), results.gradients[i], tolerance(dtype)) == "");
      }
    }
}

/// Gradients of one input at a time, where a case has several.
inline void check_single_gradients(const std::vector<Case>& cases, const Call& call) {
  for (const Case& expected : cases) {
    const std::size_t count = expected.inputs.size();
    for (std::size_t wanted = 0; count > 1 && wanted < count; ++wanted) {
      INFO(expected.name << ", only the gradient of input " << wanted);
      Tensors inputs = leaves(expected, ls::DType::float64);
      for (std::size_t i = 0; i < count; ++i) inputs[i].set_requires_grad(i == wanted);
      call(expected, inputs).backward(expected.upstream[0].tensor(ls::DType::float64));
      CHECK(difference(inputs[wanted].gradient(), expected.float64.gradients[wanted],
                       tolerance(ls::DType::float64)) == "");
      for (std::size_t i = 0; i < count; ++i) CHECK(inputs[i].has_gradient() == (i == wanted));
    }
  }
}

}  // namespace golden
