#include "backend/cuda/cuda_scalars.hpp"

#include "backend/cuda/type_of.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/gradient_scalars.hpp"

namespace lockstep::inline v0::backend::cuda {

void CudaScalars::quotient(DType dtype, const void* word, double numerator, double* result,
                           Queue queue) {
  launch("quotient", 1, queue, [&](cudaStream_t stream) {
    return kernels::reciprocal_of(type_of(dtype), word, numerator, result, stream);
  });
}

void CudaScalars::clip(const ClipInput& input, double* norm, double* clipped, Queue queue) {
  launch("clip", 1, queue, [&](cudaStream_t stream) {
    return kernels::clip_factor(input.sum_of_squares, input.factor, input.host_factor,
                                input.max_norm, norm, clipped, stream);
  });
}

void CudaScalars::scale(DType dtype, const double* factor, void* y, std::int64_t count,
                        Queue queue) {
  launch("scale", count, queue, [&](cudaStream_t stream) {
    return kernels::scale_by_device(type_of(dtype), factor, y, count, stream);
  });
}

void CudaScalars::report_unequal(DType dtype, const void* word, double expected, Problem problem,
                                 Queue queue) {
  std::int32_t* status = device_state(index()).status();
  launch("report_unequal", 1, queue, [&](cudaStream_t stream) {
    return kernels::flag_unequal(type_of(dtype), word, expected, status,
                                 static_cast<std::int32_t>(problem), stream);
  });
}

void CudaScalars::flag_non_finite(DType dtype, const void* x, std::int64_t count,
                                  std::int32_t* flag, Queue queue) {
  launch("flag_non_finite", count, queue, [&](cudaStream_t stream) {
    return kernels::non_finite(type_of(dtype), x, count, flag, stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
