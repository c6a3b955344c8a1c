#include "backend/cuda/cuda_reduction.hpp"

#include "backend/cuda/type_of.hpp"
#include "kernels/argmax.hpp"
#include "kernels/squares.hpp"
#include "kernels/sum.hpp"

namespace lockstep::inline v0::backend::cuda {

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

void CudaReduction::argmax(DType dtype, const void* x, std::int64_t rows, std::int64_t columns,
                           std::int64_t* result, Queue queue) {
  launch("argmax", rows * columns, queue, [&](cudaStream_t stream) {
    return kernels::argmax(type_of(dtype), x, rows, columns, result, stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
