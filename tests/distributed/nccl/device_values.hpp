// Tensors on this rank's GPU from numbers, and back.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "distributed/comm/values.hpp"
#include "support/test_environment.hpp"

namespace test {

inline ls::Tensor make_on_device(ls::DType dtype, std::int64_t count,
                                 const std::function<double(std::int64_t)>& value) {
  return make(dtype, count, value).to(test_environment().device());
}

inline std::vector<double> numbers_of(const ls::Tensor& tensor) {
  return numbers(tensor.to(ls::Device::cpu()));
}

/// Values whose sum depends on the order of addition.
inline double rough(std::int64_t i, int rank) {
  const auto mixed = static_cast<std::uint32_t>(i * 2654435761LL + rank * 40503LL) * 2246822519U;
  const double mantissa = 1.0 + (mixed & 0xffffU) / 65536.0;
  const double value = std::ldexp(mantissa, static_cast<int>(mixed >> 28U) - 8);
  return (mixed & 0x1000000U) != 0U ? -value : value;
}

/// A group of two or more on GPUs; a group of one gives nothing away.
inline bool on_gpus() { return test_environment().device().kind == ls::DeviceKind::cuda; }

}  // namespace test
