// Compares an operation with the golden values, forward and backward.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include <lockstep/core/operations.hpp>

#include "golden/golden.hpp"

namespace golden {

using Inputs = std::vector<ls::Tensor>;

inline ls::Reduction reduction_of(const Case& expected) {
  return expected.options.at("reduction") == "sum" ? ls::Reduction::sum : ls::Reduction::mean;
}

inline Inputs leaves(const Case& expected, ls::DType dtype) {
  Inputs inputs;
  for (const Values& values : expected.inputs) {
    inputs.push_back(values.tensor(dtype));
    inputs.back().set_requires_grad(true);
  }
  return inputs;
}

/// call(case, inputs) has PyTorch's value and gradients, in both dtypes.
template <class Call>
void check_values_and_gradients(const std::vector<Case>& cases, const Call& call) {
  for (const ls::DType dtype : {ls::DType::float32, ls::DType::float64})
    for (const Case& expected : cases) {
      INFO(expected.name << " " << name(dtype));
      const Results& results = expected.results(dtype);
      const Inputs inputs = leaves(expected, dtype);
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

/// Each gradient is right where it is the only one that is wanted.
template <class Call>
void check_single_gradients(const std::vector<Case>& cases, const Call& call) {
  for (const Case& expected : cases) {
    const std::size_t count = expected.inputs.size();
    for (std::size_t wanted = 0; count > 1 && wanted < count; ++wanted) {
      INFO(expected.name << ", only the gradient of input " << wanted);
      Inputs inputs = leaves(expected, ls::DType::float64);
      for (std::size_t i = 0; i < count; ++i) inputs[i].set_requires_grad(i == wanted);
      call(expected, inputs).backward(expected.upstream[0].tensor(ls::DType::float64));
      CHECK(difference(inputs[wanted].gradient(), expected.float64.gradients[wanted],
                       tolerance(ls::DType::float64)) == "");
      for (std::size_t i = 0; i < count; ++i) CHECK(inputs[i].has_gradient() == (i == wanted));
    }
  }
}

}  // namespace golden
