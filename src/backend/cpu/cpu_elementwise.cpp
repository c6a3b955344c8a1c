#include "backend/cpu/cpu_elementwise.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/thread_pool.hpp"
#include "backend/cpu/variant.hpp"
#include "core/unary_functions.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

template <class T>
const T* as(const void* pointer) {
  return static_cast<const T*>(pointer);
}
template <class T>
T* as(void* pointer) {
  return static_cast<T*>(pointer);
}

template <class T>
UnaryNumbers<T> as_type(const UnaryNumbers<double>& numbers) {
  return {static_cast<T>(numbers.first), static_cast<T>(numbers.second)};
}

template <class T>
using BinaryKernel = void (*)(const T*, std::int64_t, const T*, std::int64_t, T*, std::int64_t);

/// Rows [begin, end) of the result, where a row runs along the last axis.
template <class T>
void broadcast_rows(BinaryKernel<T> kernel, const Broadcast& broadcast, const T* a, const T* b,
                    T* result, std::int64_t begin, std::int64_t end) {
  const int last = broadcast.axes - 1;
  const std::int64_t width = broadcast.sizes[last];
  std::array<std::int64_t, Broadcast::kMaxAxes> position{};
  std::int64_t a_offset = 0;
  std::int64_t b_offset = 0;
  std::int64_t rest = begin;
  for (int axis = last - 1; axis >= 0; --axis) {
    position[axis] = rest % broadcast.sizes[axis];
    rest /= broadcast.sizes[axis];
    a_offset += position[axis] * broadcast.a_strides[axis];
    b_offset += position[axis] * broadcast.b_strides[axis];
  }
  for (std::int64_t row = begin; row < end; ++row) {
    kernel(a + a_offset, broadcast.a_strides[last], b + b_offset, broadcast.b_strides[last],
           result + row * width, width);
    for (int axis = last - 1; axis >= 0; --axis) {
      a_offset += broadcast.a_strides[axis];
      b_offset += broadcast.b_strides[axis];
      if (++position[axis] < broadcast.sizes[axis]) break;
      a_offset -= position[axis] * broadcast.a_strides[axis];
      b_offset -= position[axis] * broadcast.b_strides[axis];
      position[axis] = 0;
    }
  }
}

template <class T>
void broadcast_binary(BinaryKernel<T> kernel, const Broadcast& broadcast, const T* a, const T* b,
                      T* result) {
  if (broadcast.axes == 0) return kernel(a, 0, b, 0, result, 1);
  const std::int64_t width = broadcast.sizes[broadcast.axes - 1];
  std::int64_t rows = 1;
  for (int axis = 0; axis < broadcast.axes - 1; ++axis) rows *= broadcast.sizes[axis];
  if (rows == 0 || width == 0) return;
  if (rows == 1) {
    const std::int64_t a_stride = broadcast.a_strides[broadcast.axes - 1];
    const std::int64_t b_stride = broadcast.b_strides[broadcast.axes - 1];
    return for_ranges(width, [&](std::int64_t begin, std::int64_t end) {
      kernel(a + begin * a_stride, a_stride, b + begin * b_stride, b_stride, result + begin,
             end - begin);
    });
  }
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kParallelElements / 4 / width);
  for_each_task((rows + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    const std::int64_t begin = task * rows_per_task;
    broadcast_rows(kernel, broadcast, a, b, result, begin, std::min(rows, begin + rows_per_task));
  });
}

template <class T>
void fill_with(const void* element, void* result, std::int64_t count) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    std::fill(as<T>(result) + begin, as<T>(result) + end, value);
  });
}

void check_sources(const char* operation, int source_count) {
  if (source_count < 1)
    throw InvalidUsage(std::string("[cpu] ") + operation + " needs at least one source");
}

}  // namespace

void CpuElementwise::binary(BinaryOperation operation, DType dtype, const Broadcast& broadcast,
                            const void* a, const void* b, void* result, Queue) {
  with_float_type("binary arithmetic", dtype, [&]<class T>(Type<T>) {
    broadcast_binary<T>(kernels_for<T>().elementwise->binary[static_cast<int>(operation)],
                        broadcast, as<T>(a), as<T>(b), as<T>(result));
  });
}

void CpuElementwise::affine(DType dtype, const void* x, double alpha, double beta, void* result,
                            std::int64_t count, Queue) {
  with_float_type("affine", dtype, [&]<class T>(Type<T>) {
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().elementwise->affine(as<T>(x) + begin, static_cast<T>(alpha),
                                           static_cast<T>(beta), as<T>(result) + begin,
                                           end - begin);
    });
  });
}

void CpuElementwise::add_scaled(DType dtype, double alpha, const void* x, void* y,
                                std::int64_t count, Queue) {
  with_float_type("add_scaled", dtype, [&]<class T>(Type<T>) {
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().elementwise->add_scaled(static_cast<T>(alpha), as<T>(x) + begin,
                                               as<T>(y) + begin, end - begin);
    });
  });
}

void CpuElementwise::scale(DType dtype, double alpha, void* y, std::int64_t count, Queue) {
  with_float_type("scale", dtype, [&]<class T>(Type<T>) {
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().elementwise->scale(static_cast<T>(alpha), as<T>(y) + begin, end - begin);
    });
  });
}

void CpuElementwise::fill(DType dtype, double value, void* result, std::int64_t count,
                          Queue queue) {
  std::int64_t element = 0;  // the first bytes of it, rounded as a cast rounds
  cast(DType::float64, &value, dtype, &element, 1, queue);
  switch (byte_size(dtype)) {
    case 8:
      return fill_with<std::uint64_t>(&element, result, count);
    case 4:
      return fill_with<std::uint32_t>(&element, result, count);
    case 2:
      return fill_with<std::uint16_t>(&element, result, count);
    default:
      return fill_with<std::uint8_t>(&element, result, count);
  }
}

void CpuElementwise::unary(UnaryOperation operation, DType dtype, const void* x,
                           const UnaryNumbers<double>& numbers, void* result, std::int64_t count,
                           Queue) {
  with_float_type(portable::name_of(operation), dtype, [&]<class T>(Type<T>) {
    const auto kernel = kernels_for<T>().unary->forward[static_cast<int>(operation)];
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernel(as<T>(x) + begin, as_type<T>(numbers), as<T>(result) + begin, end - begin);
    });
  });
}

void CpuElementwise::unary_backward(UnaryOperation operation, DType dtype, const void* saved,
                                    const void* gradient, const UnaryNumbers<double>& numbers,
                                    void* result, std::int64_t count, Queue) {
  with_float_type(portable::name_of(operation), dtype, [&]<class T>(Type<T>) {
    const auto kernel = kernels_for<T>().unary->backward[static_cast<int>(operation)];
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernel(as<T>(saved) + begin, as<T>(gradient) + begin, as_type<T>(numbers),
             as<T>(result) + begin, end - begin);
    });
  });
}

void CpuElementwise::scaled_difference(DType dtype, const void* a, const void* b, double factor,
                                       void* result, std::int64_t count, Queue) {
  with_float_type("scaled_difference", dtype, [&]<class T>(Type<T>) {
    for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
      kernels_for<T>().elementwise->scaled_difference(as<T>(a) + begin, as<T>(b) + begin,
                                                      static_cast<T>(factor), as<T>(result) + begin,
                                                      end - begin);
    });
  });
}

void CpuElementwise::cast(DType from, const void* x, DType to, void* result, std::int64_t count,
                          Queue) {
  const auto kernel = kernels().conversion->cast[static_cast<int>(from)][static_cast<int>(to)];
  for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    kernel(as<char>(x) + begin * byte_size(from), as<char>(result) + begin * byte_size(to),
           end - begin);
  });
}

void CpuElementwise::fold_sum(DType dtype, const void* const* sources, int source_count,
                              void* result, std::int64_t count, Queue) {
  check_sources("fold_sum", source_count);
  const auto kernel = kernels().conversion->fold_sum[static_cast<int>(dtype)];
  for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    kernel(sources, source_count, result, begin, end);
  });
}

void CpuElementwise::fold_extreme(DType dtype, bool maximum, const void* const* sources,
                                  int source_count, void* result, std::int64_t count, Queue) {
  check_sources("fold_extreme", source_count);
  const ConversionKernels& conversion = *kernels().conversion;
  const auto kernel =
      (maximum ? conversion.fold_maximum : conversion.fold_minimum)[static_cast<int>(dtype)];
  if (kernel == nullptr)
    throw InvalidUsage(std::string("[cpu] minimum and maximum are not defined for ") + name(dtype));
  for_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    kernel(sources, source_count, result, begin, end);
  });
}

}  // namespace lockstep::inline v0::backend::cpu
