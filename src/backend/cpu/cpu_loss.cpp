#include "backend/cpu/cpu_loss.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "backend/cpu/chunks.hpp"
#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/variant.hpp"
#include "core/loss_functions.hpp"
#include "core/portable_math.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

/// The number of rows that count. @throws InvalidUsage for a label out of range
std::int64_t check_labels(const CrossEntropyShape& shape, const std::int64_t* labels) {
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const std::int64_t label = labels[row];
    if (label == shape.ignore_index) continue;
    if (label < 0 || label >= shape.classes)
      throw InvalidUsage("cross_entropy: label " + std::to_string(label) + " of row " +
                         std::to_string(row) + " is outside [0, " + std::to_string(shape.classes) +
                         "): there are " + std::to_string(shape.classes) +
                         " classes, and labels to be left out have the value " +
                         std::to_string(shape.ignore_index));
    ++counted;
  }
  return counted;
}

/// About kSmallest logits per chunk; depends on the number of classes alone.
std::int64_t rows_per_chunk(const CrossEntropyShape& shape) {
  constexpr std::int64_t kSmallest = 32 * 1024;
  return std::max<std::int64_t>(1, kSmallest / std::max<std::int64_t>(1, shape.classes));
}

template <class T>
double row_loss(const CrossEntropyShape& shape, const T* logits, std::int64_t label, T* softmax) {
  if (label == shape.ignore_index) {
    std::fill(softmax, softmax + shape.classes, T{0});
    return 0;
  }
  const double all =
      shape.label_smoothing > 0 ? kernels_for<T>().reduction->sum(logits, shape.classes) : 0.0;
  T largest;
  const double sum = kernels_for<T>().loss->softmax_row(logits, shape.classes, softmax, &largest);
  const double top = static_cast<double>(largest);
  const double hot = static_cast<double>(logits[label]) - top;
  if (!(shape.label_smoothing > 0)) return portable::log(sum) - hot;
  const double mean = all / static_cast<double>(shape.classes) - top;
  return portable::log(sum) - ((1.0 - shape.label_smoothing) * hot + shape.label_smoothing * mean);
}

template <class T>
void forward(const CrossEntropyShape& shape, const T* logits, const std::int64_t* labels, T* loss,
             T* softmax, T* divisor) {
  const std::int64_t counted = check_labels(shape, labels);
  const double sum =
      sum_in_chunks(shape.rows, rows_per_chunk(shape), [&](std::int64_t begin, std::int64_t end) {
        double total = 0;
        for (std::int64_t row = begin; row < end; ++row)
          total += row_loss(shape, logits + row * shape.classes, labels[row],
                            softmax + row * shape.classes);
        return total;
      });
  const double over = shape.mean ? static_cast<double>(counted) : 1.0;
  *divisor = static_cast<T>(over);
  *loss = over == 0 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(sum / over);
}

template <class T>
void backward(const CrossEntropyShape& shape, const T* softmax, const std::int64_t* labels, T scale,
              T* result) {
  const std::int64_t rows = rows_per_chunk(shape);
  const double even = shape.label_smoothing / static_cast<double>(shape.classes);
  const T rest = static_cast<T>(even);
  const T hot = static_cast<T>((1.0 - shape.label_smoothing) + even);
  for_each_task((shape.rows + rows - 1) / rows, [&](std::int64_t task) {
    const std::int64_t end = std::min(shape.rows, (task + 1) * rows);
    for (std::int64_t row = task * rows; row < end; ++row) {
      T* target = result + row * shape.classes;
      if (labels[row] == shape.ignore_index) {
        std::fill(target, target + shape.classes, T{0});
        continue;
      }
      const T* source = softmax + row * shape.classes;
      for (std::int64_t i = 0; i < shape.classes; ++i) target[i] = (source[i] - rest) * scale;
      target[labels[row]] = (source[labels[row]] - hot) * scale;
    }
  });
}

}  // namespace

void CpuLoss::cross_entropy(DType dtype, const CrossEntropyShape& shape, const void* logits,
                            const std::int64_t* labels, void* loss, void* softmax, void* divisor,
                            Queue) {
  with_float_type("cross_entropy", dtype, [&]<class T>(Type<T>) {
    forward<T>(shape, static_cast<const T*>(logits), labels, static_cast<T*>(loss),
               static_cast<T*>(softmax), static_cast<T*>(divisor));
  });
}

void CpuLoss::cross_entropy_backward(DType dtype, const CrossEntropyShape& shape,
                                     const void* softmax, const std::int64_t* labels,
                                     const void* gradient, const void* divisor, void* result,
                                     Queue) {
  with_float_type("cross_entropy_backward", dtype, [&]<class T>(Type<T>) {
    const T scale = *static_cast<const T*>(gradient) / *static_cast<const T*>(divisor);
    backward<T>(shape, static_cast<const T*>(softmax), labels, scale, static_cast<T*>(result));
  });
}

void CpuLoss::pair(DType dtype, const PairLoss& loss, const void* prediction, const void* target,
                   void* result, Queue) {
  with_float_type(portable::name_of(loss.kind), dtype, [&]<class T>(Type<T>) {
    constexpr std::int64_t kSmallestChunk = 32 * 1024;
    const auto kernel = kernels_for<T>().pair_loss->value[static_cast<int>(loss.kind)];
    const auto* x = static_cast<const T*>(prediction);
    const auto* t = static_cast<const T*>(target);
    const double sum =
        sum_in_chunks(loss.count, kSmallestChunk, [&](std::int64_t begin, std::int64_t end) {
          return kernel(x + begin, t + begin, loss.number, end - begin);
        });
    *static_cast<T*>(result) = static_cast<T>(sum * loss.factor);
  });
}

void CpuLoss::pair_backward(DType dtype, const PairLoss& loss, const void* prediction,
                            const void* target, const void* gradient, bool of_target, void* result,
                            Queue) {
  with_float_type(portable::name_of(loss.kind), dtype, [&]<class T>(Type<T>) {
    const auto kernel = kernels_for<T>().pair_loss->slope[of_target][static_cast<int>(loss.kind)];
    const T scale = *static_cast<const T*>(gradient) * static_cast<T>(loss.factor);
    for_ranges(loss.count, [&](std::int64_t begin, std::int64_t end) {
      kernel(static_cast<const T*>(prediction) + begin, static_cast<const T*>(target) + begin,
             static_cast<T>(loss.number), scale, static_cast<T*>(result) + begin, end - begin);
    });
  });
}

}  // namespace lockstep::inline v0::backend::cpu
