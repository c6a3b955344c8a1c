#include "backend/cuda/cuda_random.hpp"

#include "backend/capture.hpp"
#include "backend/cuda/type_of.hpp"
#include "kernels/dropout.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

/// A replay would draw the same numbers again.
void refuse_in_capture(const char* what) {
  if (Capture* capture = current_capture()) capture->refuse(what);
}

}  // namespace

void CudaRandom::uniform(DType dtype, const RandomPosition& position, double low, double high,
                         void* result, std::int64_t count, Queue queue) {
  refuse_in_capture("draws uniform numbers");
  launch("uniform", count, queue, [&](cudaStream_t stream) {
    return kernels::uniform(type_of(dtype), position_of(position), low, high, result, count,
                            stream);
  });
}

void CudaRandom::normal(DType dtype, const RandomPosition& position, void* result,
                        std::int64_t count, Queue queue) {
  refuse_in_capture("draws normal numbers");
  launch("normal", count, queue, [&](cudaStream_t stream) {
    return kernels::normal(type_of(dtype), position_of(position), result, count, stream);
  });
}

void CudaRandom::bernoulli(DType dtype, const RandomPosition& position, double probability,
                           void* result, std::int64_t count, Queue queue) {
  refuse_in_capture("draws a mask");
  launch("bernoulli", count, queue, [&](cudaStream_t stream) {
    return kernels::bernoulli(type_of(dtype), position_of(position), probability, result, count,
                              stream);
  });
}

void CudaRandom::dropout(DType dtype, const RandomPosition& position, double probability,
                         const void* x, void* result, std::int64_t count, Queue queue) {
  if (position.device_offset == nullptr) refuse_in_capture("draws a mask");
  launch("dropout", count, queue, [&](cudaStream_t stream) {
    return kernels::dropout(type_of(dtype), position_of(position), position.device_offset,
                            probability, x, result, count, stream);
  });
}

}  // namespace lockstep::inline v0::backend::cuda
