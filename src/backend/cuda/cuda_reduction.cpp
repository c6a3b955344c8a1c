#include "backend/cuda/cuda_reduction.hpp"

#include "backend/cuda/type_of.hpp"
#include "kernels/extreme.hpp"
#include "kernels/squares.hpp"
#include "kernels/sum.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

kernels::ExtremeExtents extents_of(const Extents& size) {
  return {size.outer, size.extent, size.inner};
}

}  // namespace

void CudaReduction::sum(DType dtype, const void* x, std::int64_t outer, std::int64_t extent,
                        std::int64_t inner, double factor, bool accumulate, void* result,
                        Queue queue) {
  const Scratch scratch(index(), kernels::sum_workspace_bytes(outer, extent, inner), queue);
  launch("sum", outer * extent * inner, queue, [&](cudaStream_t stream) {
    return kernels::sum(type_of(dtype), x, outer, extent, inner, factor, accumulate, result,
                        scratch.data(), stream);
  });
}

void CudaReduction::add_sum_of_squares(DType dtype, const void* x, std::int64_t count, void* result,
                                       Queue queue) {
  const Scratch scratch(index(), kernels::add_sum_of_squares_workspace_bytes(count), queue);
  launch("add_sum_of_squares", count, queue, [&](cudaStream_t stream) {
    return kernels::add_sum_of_squares(type_of(dtype), x, count, result, scratch.data(), stream);
  });
}

void CudaReduction::squared_difference(DType dtype, const void* a, const void* b,
                                       std::int64_t count, double factor, void* result,
                                       Queue queue) {
  const Scratch scratch(index(), kernels::squared_difference_workspace_bytes(count), queue);
  launch("squared_difference", count, queue, [&](cudaStream_t stream) {
    return kernels::squared_difference(type_of(dtype), a, b, count, factor, result, scratch.data(),
                                       stream);
  });
}

void CudaReduction::extreme(DType dtype, bool maximum, const void* x, const Extents& size,
                            void* values, std::int64_t* indexes, Queue queue) {
  launch("extreme", size.outer * size.extent * size.inner, queue, [&](cudaStream_t stream) {
    return kernels::extreme(type_of(dtype), maximum, x, extents_of(size), values, indexes, stream);
  });
}

void CudaReduction::extreme_backward(DType dtype, const void* gradient, const std::int64_t* indexes,
                                     const Extents& size, void* result, Queue queue) {
  launch("extreme_backward", size.outer * size.extent * size.inner, queue,
         [&](cudaStream_t stream) {
           return kernels::extreme_backward(type_of(dtype), gradient, indexes, extents_of(size),
                                            result, stream);
         });
}

}  // namespace lockstep::inline v0::backend::cuda
