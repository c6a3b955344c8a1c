// Unary operations, forward and backward.
#include "backend/cpu/vector/tables.hpp"
#include "core/unary_functions.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

using portable::UnaryNumbers;

template <class Function, class T>
void forward(const T* x, UnaryNumbers<T> numbers, T* result, std::int64_t count) {
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = Function::forward(x[i], numbers);
}

template <class Function, class T>
void backward(const T* saved, const T* gradient, UnaryNumbers<T> numbers, T* result,
              std::int64_t count) {
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i)
    result[i] = Function::backward(saved[i], gradient[i], numbers);
}

template <class T>
constexpr UnaryKernels<T> table() {
  UnaryKernels<T> kernels{};
  portable::for_each_unary([&]<class Function>(Function) {
    kernels.forward[static_cast<int>(Function::kOperation)] = forward<Function, T>;
    kernels.backward[static_cast<int>(Function::kOperation)] = backward<Function, T>;
  });
  return kernels;
}

}  // namespace

constinit const UnaryKernels<float> kUnary32 = table<float>();
constinit const UnaryKernels<double> kUnary64 = table<double>();

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
