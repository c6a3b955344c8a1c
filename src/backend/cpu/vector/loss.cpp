// Softmax of a row.
#include "backend/cpu/vector/lanes.hpp"
#include "core/portable_math.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

template <class T>
T largest_of(const T* x, std::int64_t count) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = static_cast<T>(-__builtin_inf());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
  for (std::int64_t lane = 0; i < count; ++i, ++lane)
    lanes[lane] = x[i] > lanes[lane] ? x[i] : lanes[lane];
  T largest = lanes[0];
  for (const T lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

template <class T>
[[gnu::always_inline]] inline void exponentials(const T* x, T largest, T* result, Lanes& lanes) {
  T values[kLanes];
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    values[lane] = portable::exp(x[lane] - largest);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = values[lane];
    lanes.sums[lane] += static_cast<double>(values[lane]);
  }
}

template <class T>
double softmax_row(const T* logits, std::int64_t classes, T* softmax, T* largest) {
  const T top = largest_of(logits, classes);
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kLanes <= classes; i += kLanes) exponentials(logits + i, top, softmax + i, lanes);
  if (i < classes) {  // the rest as a full set of lanes too: a row of 10 is all rest
    T tail[kLanes];
    const std::int64_t rest = classes - i;
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      tail[lane] = static_cast<T>(-__builtin_inf());
    for (std::int64_t lane = 0; lane < rest; ++lane) tail[lane] = logits[i + lane];
    exponentials(tail, top, tail, lanes);
    for (std::int64_t lane = 0; lane < rest; ++lane) softmax[i + lane] = tail[lane];
  }
  const double sum = lanes.total();
  const T divisor = static_cast<T>(sum);
  LOCKSTEP_INDEPENDENT
  for (i = 0; i < classes; ++i) softmax[i] = softmax[i] / divisor;
  *largest = top;
  return sum;
}

}  // namespace

const LossKernels<float> kLoss32 = {softmax_row<float>};
const LossKernels<double> kLoss64 = {softmax_row<double>};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
