// The implementations of matrix products on the CPU.
#pragma once

#include "backend/gemm.hpp"

namespace lockstep::inline v0::backend::cpu {

/// What is the same for every library but for the product itself.
class CpuGemm : public Gemm {
 public:
  void multiply(DType dtype, const GemmShape& shape, const void* a, const void* b, double beta,
                void* c, Queue queue) final;
  void linear(DType dtype, std::int64_t rows, std::int64_t in, std::int64_t out, const void* x,
              const void* weight, const void* bias, void* y, Queue queue) override;
  void linear_gradients(DType dtype, const LinearShape& shape, const LinearGradients& operands,
                        Queue queue) override;
  /// One product, whatever the batch; no extent is 0.
  virtual void multiply_one(DType dtype, const GemmShape& shape, const void* a, const void* b,
                            double beta, void* c) = 0;
};

/// Eigen: always there; one thread.
CpuGemm& eigen_gemm();
/// The BLAS that the library was linked with, null without one.
CpuGemm* blas_gemm();
/// "openblas", "mkl", "blas", or null without one.
const char* blas_name();
/// Tells the BLAS how many threads it may use, if it can be told.
void set_blas_thread_count(int count);

}  // namespace lockstep::inline v0::backend::cpu
