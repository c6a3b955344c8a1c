// Softmax along rows and columns, and layer normalization of rows.
#include "backend/cpu/vector/softmax.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

template <class T>
void plain_row(const T* x, std::int64_t count, T* result) {
  T top;
  softmax_row(x, count, result, &top);
}

template <class T>
void logarithm_row(const T* x, std::int64_t count, T* result) {
  T top;
  const T log_sum = static_cast<T>(portable::log(exponentials_of_row(x, count, result, &top)));
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = (x[i] - top) - log_sum;
}

template <class T>
void plain_row_backward(const T* y, const T* gradient, std::int64_t count, T* result) {
  const T sum = static_cast<T>(sum_in_lanes(count, [y, gradient](std::int64_t i) {
    return static_cast<double>(y[i]) * static_cast<double>(gradient[i]);
  }));
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = (gradient[i] - sum) * y[i];
}

template <class T>
void logarithm_row_backward(const T* y, const T* gradient, std::int64_t count, T* result) {
  const T sum = static_cast<T>(
      sum_in_lanes(count, [gradient](std::int64_t i) { return static_cast<double>(gradient[i]); }));
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = gradient[i] - portable::exp(y[i]) * sum;
}

template <bool kLogarithm, class T>
void columns(const T* x, std::int64_t extent, std::int64_t inner, std::int64_t width, T* result) {
  T tops[kLanes];
  double sums[kLanes] = {};
  for (T& top : tops) top = static_cast<T>(-__builtin_inf());
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column)
      tops[column] = x[i + column] > tops[column] ? x[i + column] : tops[column];
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column) {
      const T value = portable::exp(x[i + column] - tops[column]);
      result[i + column] = value;
      sums[column] += static_cast<double>(value);
    }
  T last[kLanes];  // the divisor, or its logarithm
  for (std::int64_t column = 0; column < width; ++column)
    last[column] = static_cast<T>(kLogarithm ? portable::log(sums[column]) : sums[column]);
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column) {
      T& value = result[i + column];
      value = kLogarithm ? (x[i + column] - tops[column]) - last[column] : value / last[column];
    }
}

template <bool kLogarithm, class T>
void columns_backward(const T* y, const T* gradient, std::int64_t extent, std::int64_t inner,
                      std::int64_t width, T* result) {
  double sums[kLanes] = {};
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column) {
      const double value = static_cast<double>(gradient[i + column]);
      sums[column] += kLogarithm ? value : static_cast<double>(y[i + column]) * value;
    }
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column) {
      const T sum = static_cast<T>(sums[column]);
      const T value = gradient[i + column];
      result[i + column] =
          kLogarithm ? value - portable::exp(y[i + column]) * sum : (value - sum) * y[i + column];
    }
}

/// (x - mean) / deviation. The difference in float64: a large mean cancels there.
template <class T>
[[gnu::always_inline]] inline T normalized(T x, double mean, T factor) {
  return static_cast<T>(static_cast<double>(x) - mean) * factor;
}

template <class T>
void layer_norm_row(const T* x, const T* weight, const T* bias, std::int64_t count, double epsilon,
                    T* result, double* statistics) {
  const double over = static_cast<double>(count);
  const double mean =
      sum_in_lanes(count, [x](std::int64_t i) { return static_cast<double>(x[i]); }) / over;
  const double variance = sum_in_lanes(count,
                                       [x, mean](std::int64_t i) {
                                         const double apart = static_cast<double>(x[i]) - mean;
                                         return apart * apart;
                                       }) /
                          over;
  statistics[0] = mean;
  statistics[1] = 1.0 / __builtin_sqrt(variance + epsilon);
  const T factor = static_cast<T>(statistics[1]);
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = normalized(x[i], mean, factor);
  if (weight != nullptr) {
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) result[i] = result[i] * weight[i];
  }
  if (bias != nullptr) {
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) result[i] = result[i] + bias[i];
  }
}

/// With h the normalized element and u = gradient * weight: (u - mean of u - h * mean of u h) /
/// deviation.
template <bool kWeighted, class T>
void input_gradient(const NormalizedRow<T>& row, T* result) {
  const T* x = row.x;
  const T* gradient = row.gradient;
  const T* weight = row.weight;
  const std::int64_t count = row.count;
  const double mean = row.statistics[0];
  const T factor = static_cast<T>(row.statistics[1]);
  const auto scaled = [=](std::int64_t i) {
    return kWeighted ? gradient[i] * weight[i] : gradient[i];
  };
  Lanes sums;
  Lanes products;
  const auto add = [&](std::int64_t i, std::int64_t lane) __attribute__((always_inline)) {
    const double u = static_cast<double>(scaled(i));
    sums.sums[lane] += u;
    products.sums[lane] += u * static_cast<double>(normalized(x[i], mean, factor));
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (std::int64_t lane = 0; i < count; ++i, ++lane) add(i, lane);
  const T mean_u = static_cast<T>(sums.total() / static_cast<double>(count));
  const T mean_uh = static_cast<T>(products.total() / static_cast<double>(count));
  LOCKSTEP_INDEPENDENT
  for (i = 0; i < count; ++i) {
    const T h = normalized(x[i], mean, factor);
    result[i] = ((scaled(i) - mean_u) - h * mean_uh) * factor;
  }
}

template <class T>
void layer_norm_row_backward(const NormalizedRow<T>& row, T* result) {
  if (row.weight != nullptr)
    input_gradient<true>(row, result);
  else
    input_gradient<false>(row, result);
}

template <class T>
void layer_norm_row_parameters(const NormalizedRow<T>& row, double* weight, double* bias) {
  const T* x = row.x;
  const T* gradient = row.gradient;
  const double mean = row.statistics[0];
  const T factor = static_cast<T>(row.statistics[1]);
  if (weight != nullptr) {
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < row.count; ++i)
      weight[i] +=
          static_cast<double>(gradient[i]) * static_cast<double>(normalized(x[i], mean, factor));
  }
  if (bias != nullptr) {
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < row.count; ++i) bias[i] += static_cast<double>(gradient[i]);
  }
}

template <class T>
constexpr NormalizationKernels<T> kTable = {{plain_row<T>, logarithm_row<T>},
                                            {plain_row_backward<T>, logarithm_row_backward<T>},
                                            {columns<false, T>, columns<true, T>},
                                            {columns_backward<false, T>, columns_backward<true, T>},
                                            layer_norm_row<T>,
                                            layer_norm_row_backward<T>,
                                            layer_norm_row_parameters<T>};

}  // namespace

const NormalizationKernels<float> kNormalization32 = kTable<float>;
const NormalizationKernels<double> kNormalization64 = kTable<double>;

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
