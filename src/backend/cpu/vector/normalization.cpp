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
  const T sum = static_cast<T>(sum_in_lanes(
      count, [y, gradient](std::int64_t i) { return static_cast<double>(y[i] * gradient[i]); }));
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = (gradient[i] - sum) * y[i];
}

template <class T>
void logarithm_row_backward(const T* y, const T* gradient, std::int64_t count, T* result) {
  const T sum = static_cast<T>(
      sum_in_lanes(count, [gradient](std::int64_t i) { return static_cast<double>(gradient[i]); }));
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i)
    result[i] = gradient[i] - portable::exp_below_one(y[i]) * sum;
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
      const T value = portable::exp_below_one(x[i + column] - tops[column]);
      result[i + column] = value;
      sums[column] += static_cast<double>(value);
    }
  T last[kLanes];  // the logarithm of the sum, or a factor
  for (std::int64_t column = 0; column < width; ++column)
    last[column] = static_cast<T>(kLogarithm ? portable::log(sums[column]) : 1.0 / sums[column]);
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column) {
      T& value = result[i + column];
      value = kLogarithm ? (x[i + column] - tops[column]) - last[column] : value * last[column];
    }
}

template <bool kLogarithm, class T>
void columns_backward(const T* y, const T* gradient, std::int64_t extent, std::int64_t inner,
                      std::int64_t width, T* result) {
  double sums[kLanes] = {};
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column) {
      const T value = gradient[i + column];
      sums[column] += static_cast<double>(kLogarithm ? value : y[i + column] * value);
    }
  for (std::int64_t i = 0; i < extent * inner; i += inner)
    for (std::int64_t column = 0; column < width; ++column) {
      const T sum = static_cast<T>(sums[column]);
      const T value = gradient[i + column];
      result[i + column] = kLogarithm ? value - portable::exp_below_one(y[i + column]) * sum
                                      : (value - sum) * y[i + column];
    }
}

/// (x - mean) / deviation. The mean is in two parts: a large one would cancel if it were rounded.
template <class T>
struct Normalized {
  T mean;
  T rest;
  T factor;

  [[gnu::always_inline]] static Normalized by(const double* statistics) {
    const T mean = static_cast<T>(statistics[0]);
    return {mean, static_cast<T>(statistics[0] - static_cast<double>(mean)),
            static_cast<T>(statistics[1])};
  }
  [[gnu::always_inline]] T operator()(T x) const { return ((x - mean) - rest) * factor; }
};

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
  const auto normalized = Normalized<T>::by(statistics);
  if (weight != nullptr && bias != nullptr) {  // the usual case in one pass
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) result[i] = normalized(x[i]) * weight[i] + bias[i];
    return;
  }
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = normalized(x[i]);
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
void input_gradient(const NormalizedRows<T>& row, T* result) {
  const T* x = row.x;
  const T* gradient = row.gradient;
  const T* weight = row.weight;
  const double over = static_cast<double>(row.columns);
  const auto normalized = Normalized<T>::by(row.statistics);
  const auto scaled = [=](std::int64_t i) {
    return kWeighted ? gradient[i] * weight[i] : gradient[i];
  };
  double sums[2];
  sums_in_lanes(
      row.columns, [=](std::int64_t i) { return static_cast<double>(scaled(i)); },
      [=](std::int64_t i) { return static_cast<double>(scaled(i) * normalized(x[i])); }, sums);
  const T mean_u = static_cast<T>(sums[0] / over);
  const T mean_uh = static_cast<T>(sums[1] / over);
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < row.columns; ++i)
    result[i] = ((scaled(i) - mean_u) - normalized(x[i]) * mean_uh) * normalized.factor;
}

template <class T>
void layer_norm_row_backward(const NormalizedRows<T>& row, T* result) {
  if (row.weight != nullptr)
    input_gradient<true>(row, result);
  else
    input_gradient<false>(row, result);
}

/// Several rows at a time, so that the sums are read and written less often.
template <class T>
void layer_norm_parameters(const NormalizedRows<T>& rows, std::int64_t row_count, double* weight,
                           double* bias) {
  const std::int64_t columns = rows.columns;
  Normalized<T> normalized[kMostNormalizedRows];
  for (std::int64_t row = 0; row < row_count; ++row)
    normalized[row] = Normalized<T>::by(rows.statistics + 2 * row);
  std::int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    LaneVector<double> weights(weight + i);
    LaneVector<double> biases(bias + i);
    for (std::int64_t row = 0; row < row_count; ++row) {
      const T* x = rows.x + row * columns + i;
      const T* gradient = rows.gradient + row * columns + i;
      double terms[kLanes];
      LOCKSTEP_LANES
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        terms[lane] = static_cast<double>(gradient[lane] * normalized[row](x[lane]));
      weights.add(terms);
      LOCKSTEP_LANES
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        terms[lane] = static_cast<double>(gradient[lane]);
      biases.add(terms);
    }
    weights.store(weight + i);
    biases.store(bias + i);
  }
  for (; i < columns; ++i)
    for (std::int64_t row = 0; row < row_count; ++row) {
      const T gradient = rows.gradient[row * columns + i];
      weight[i] += static_cast<double>(gradient * normalized[row](rows.x[row * columns + i]));
      bias[i] += static_cast<double>(gradient);
    }
}

template <class T>
constexpr NormalizationKernels<T> kTable = {{plain_row<T>, logarithm_row<T>},
                                            {plain_row_backward<T>, logarithm_row_backward<T>},
                                            {columns<false, T>, columns<true, T>},
                                            {columns_backward<false, T>, columns_backward<true, T>},
                                            layer_norm_row<T>,
                                            layer_norm_row_backward<T>,
                                            layer_norm_parameters<T>};

}  // namespace

const NormalizationKernels<float> kNormalization32 = kTable<float>;
const NormalizationKernels<double> kNormalization64 = kTable<double>;

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
