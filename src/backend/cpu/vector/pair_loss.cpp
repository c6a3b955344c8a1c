// Losses of pairs of a prediction and a target.
#include "backend/cpu/vector/lanes.hpp"
#include "core/loss_functions.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

template <class Function, class T>
double value(const T* x, const T* t, double number, std::int64_t count) {
  return sum_in_lanes(count, [=](std::int64_t i) {
    return Function::value(static_cast<double>(x[i]), static_cast<double>(t[i]), number);
  });
}

template <class Function, bool kOfTarget, class T>
void slope(const T* x, const T* t, T number, T scale, T* result, std::int64_t count) {
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (kOfTarget)
      result[i] = Function::target_slope(x[i], t[i], number) * scale;
    else
      result[i] = Function::slope(x[i], t[i], number) * scale;
  }
}

template <class T>
constexpr PairLossKernels<T> table() {
  PairLossKernels<T> kernels{};
  portable::for_each_pair_loss([&]<class Function>(Function) {
    constexpr auto kIndex = static_cast<int>(Function::kKind);
    kernels.value[kIndex] = value<Function, T>;
    kernels.slope[false][kIndex] = slope<Function, false, T>;
    kernels.slope[true][kIndex] = slope<Function, true, T>;
  });
  return kernels;
}

}  // namespace

constinit const PairLossKernels<float> kPairLoss32 = table<float>();
constinit const PairLossKernels<double> kPairLoss64 = table<double>();

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
