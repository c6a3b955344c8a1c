// Functions of tensors on both devices: values and gradients, from the same numbers.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/lockstep.hpp>
#include "parity/compare.hpp"

namespace parity {

namespace ls = lockstep;

using Tensors = std::vector<ls::Tensor>;
using Function = std::function<ls::Tensor(const Tensors&)>;

inline const ls::Device kCuda = ls::Device::cuda();

/// On the device; if `odd`, one element behind an address that is a multiple of 64 bytes.
inline ls::Tensor placed(const ls::Tensor& values, ls::Device device, bool odd) {
  if (!odd) return device == ls::Device::cpu() ? values.clone() : values.to(device);
  const std::int64_t count = values.element_count();
  ls::Tensor with_front = ls::empty(ls::Shape{count + 1}, values.dtype());
  const auto element = static_cast<std::size_t>(ls::byte_size(values.dtype()));
  if (count > 0)
    std::memcpy(static_cast<char*>(with_front.mutable_raw_data()) + element, values.raw_data(),
                element * static_cast<std::size_t>(count));
  auto owner = std::make_shared<ls::Tensor>(with_front.to(device));
  void* begin = static_cast<char*>(owner->mutable_raw_data()) + element;
  return ls::borrow(begin, values.shape(), values.dtype(), device, std::move(owner));
}

/// Random in [-2, 2), the same for the same seed and shape.
inline ls::Tensor random_tensor(const ls::Shape& shape, ls::DType dtype, std::uint64_t seed) {
  ls::Generator generator{seed};
  return ls::uniform(shape, -2, 2, dtype, generator);
}

/// The value of the function at these leaves on the device, and the gradient of each: of the result
/// times random numbers.
template <class T>
std::vector<std::vector<T>> value_and_gradients(const Function& function, const Tensors& at,
                                                ls::Device device, bool odd) {
  Tensors leaves;
  for (const ls::Tensor& values : at)
    leaves.push_back(placed(values, device, odd).set_requires_grad(true));
  const ls::Tensor result = function(leaves);
  CHECK(result.device() == device);
  const ls::Tensor weights = random_tensor(result.shape(), result.dtype(), 99);
  result.backward(weights.to(device));
  std::vector<std::vector<T>> values{result.to_vector<T>()};
  for (const ls::Tensor& leaf : leaves) values.push_back(leaf.gradient().to_vector<T>());
  return values;
}

/// The same on the CPU and on CUDA.
template <class T>
auto on_devices(const Function& function, const Tensors& at, bool odd) {
  auto cpu = value_and_gradients<T>(function, at, ls::Device::cpu(), odd);
  return std::pair(std::move(cpu), value_and_gradients<T>(function, at, kCuda, odd));
}

/// At random leaves of these shapes.
template <class T>
auto on_devices(const Function& function, const std::vector<ls::Shape>& shapes, bool odd) {
  Tensors at;
  for (const ls::Shape& shape : shapes)
    at.push_back(random_tensor(shape, ls::dtype_of<T>, 100 + at.size()));
  return on_devices<T>(function, at, odd);
}

/// At random leaves, in aligned memory and not: the same bits.
template <class T>
void check_same(const Function& function, const std::vector<ls::Shape>& shapes) {
  for (const bool odd : {false, true}) {
    INFO("odd " << odd);
    CHECK(same(on_devices<T>(function, shapes, odd)));
  }
}

/// Within the tolerance.
template <class T>
void check_near(const Function& function, const std::vector<ls::Shape>& shapes, double tolerance) {
  for (const bool odd : {false, true}) {
    INFO("odd " << odd);
    CHECK(apart(on_devices<T>(function, shapes, odd)) <= tolerance);
  }
}

}  // namespace parity
