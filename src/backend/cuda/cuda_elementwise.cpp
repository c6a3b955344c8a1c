#include "backend/cuda/cuda_elementwise.hpp"

#include <algorithm>

#include "backend/cuda/type_of.hpp"
#include "core/unary_functions.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/binary.hpp"
#include "kernels/cast.hpp"
#include "kernels/fill.hpp"
#include "kernels/fold.hpp"
#include "kernels/unary.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

kernels::Broadcast kernel_broadcast(const Broadcast& broadcast) {
  kernels::Broadcast result;
  result.axes = broadcast.axes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(broadcast.axes); ++i) {
    result.sizes[i] = broadcast.sizes[i];
    result.a_strides[i] = broadcast.a_strides[i];
    result.b_strides[i] = broadcast.b_strides[i];
  }
  return result;
}

std::int64_t element_count(const Broadcast& broadcast) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(broadcast.axes); ++i)
    count *= broadcast.sizes[i];
  return count;
}

}  // namespace

void CudaElementwise::binary(BinaryOperation operation, DType dtype, const Broadcast& broadcast,
                             const void* a, const void* b, void* result, Queue queue) {
  launch("binary", element_count(broadcast), queue, [&](cudaStream_t stream) {
    return kernels::binary(static_cast<kernels::BinaryOperation>(operation), type_of(dtype),
                           kernel_broadcast(broadcast), a, b, result, stream);
  });
}

void CudaElementwise::affine(DType dtype, const void* x, double alpha, double beta, void* result,
                             std::int64_t count, Queue queue) {
  launch("affine", count, queue, [&](cudaStream_t stream) {
    return kernels::affine(type_of(dtype), x, alpha, beta, result, count, stream);
  });
}

void CudaElementwise::add_scaled(DType dtype, double alpha, const void* x, void* y,
                                 std::int64_t count, Queue queue) {
  launch("add_scaled", count, queue, [&](cudaStream_t stream) {
    return kernels::add_scaled(type_of(dtype), alpha, x, y, count, stream);
  });
}

void CudaElementwise::scale(DType dtype, double alpha, void* y, std::int64_t count, Queue queue) {
  launch("scale", count, queue, [&](cudaStream_t stream) {
    return kernels::scale(type_of(dtype), alpha, y, count, stream);
  });
}

void CudaElementwise::fill(DType dtype, double value, void* result, std::int64_t count,
                           Queue queue) {
  launch("fill", count, queue, [&](cudaStream_t stream) {
    return kernels::fill(type_of(dtype), value, result, count, stream);
  });
}

void CudaElementwise::unary(UnaryOperation operation, DType dtype, const void* x,
                            const UnaryNumbers<double>& numbers, void* result, std::int64_t count,
                            Queue queue) {
  launch(portable::name_of(operation), count, queue, [&](cudaStream_t stream) {
    return kernels::unary(operation, type_of(dtype), x, numbers, result, count, stream);
  });
}

void CudaElementwise::unary_backward(UnaryOperation operation, DType dtype, const void* saved,
                                     const void* gradient, const UnaryNumbers<double>& numbers,
                                     void* result, std::int64_t count, Queue queue) {
  launch(portable::name_of(operation), count, queue, [&](cudaStream_t stream) {
    return kernels::unary_backward(operation, type_of(dtype), saved, gradient, numbers, result,
                                   count, stream);
  });
}

void CudaElementwise::scaled_difference(DType dtype, const void* a, const void* b, double factor,
                                        void* result, std::int64_t count, Queue queue) {
  launch("scaled_difference", count, queue, [&](cudaStream_t stream) {
    return kernels::scaled_difference(type_of(dtype), a, b, factor, result, count, stream);
  });
}

void CudaElementwise::cast(DType from, const void* x, DType to, void* result, std::int64_t count,
                           Queue queue) {
  launch("cast", count, queue, [&](cudaStream_t stream) {
    return kernels::cast(type_of(from), x, type_of(to), result, count, stream);
  });
}

void CudaElementwise::fold_sum(DType dtype, const void* const* sources, int source_count,
                               void* result, std::int64_t count, Queue queue) {
  launch("fold_sum", count, queue, [&](cudaStream_t stream) {
    return kernels::fold_sum(type_of(dtype), sources, source_count, result, count, stream);
  });
}

void CudaElementwise::fold_extreme(DType dtype, bool maximum, const void* const* sources,
                                   int source_count, void* result, std::int64_t count,
                                   Queue queue) {
  launch("fold_extreme", count, queue, [&](cudaStream_t stream) {
    return kernels::fold_extreme(type_of(dtype), maximum, sources, source_count, result, count,
                                 stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
