// Sums of a range, in lanes, and sums of columns.
#include "backend/cpu/vector/lanes.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

template <class T>
double sum(const T* x, std::int64_t count) {
  return sum_in_lanes(count, [x](std::int64_t i) { return static_cast<double>(x[i]); });
}

template <class T>
double sum_of_squares(const T* x, std::int64_t count) {
  return sum_in_lanes(count, [x](std::int64_t i) {
    const double value = static_cast<double>(x[i]);
    return value * value;
  });
}

template <class T>
double squared_difference(const T* a, const T* b, std::int64_t count) {
  return sum_in_lanes(count, [a, b](std::int64_t i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return difference * difference;
  });
}

/// Each column is added up from its first row to its last.
template <class T>
void column_sums(const T* x, std::int64_t extent, std::int64_t inner, std::int64_t begin,
                 std::int64_t end, double* sums) {
  const std::int64_t width = end - begin;
  for (std::int64_t column = 0; column < width; ++column) sums[column] = 0;
  for (std::int64_t row = 0; row < extent; ++row) {
    const T* values = x + row * inner + begin;
    LOCKSTEP_INDEPENDENT
    for (std::int64_t column = 0; column < width; ++column)
      sums[column] += static_cast<double>(values[column]);
  }
}

}  // namespace

const ReductionKernels<float> kReduction32 = {sum<float>, sum_of_squares<float>,
                                              squared_difference<float>, column_sums<float>};
const ReductionKernels<double> kReduction64 = {sum<double>, sum_of_squares<double>,
                                               squared_difference<double>, column_sums<double>};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
