// The implementations of matrix products on the CPU.
#pragma once

#include "backend/gemm.hpp"

namespace lockstep::inline v0::backend::cpu {

/// Eigen: always there; one thread.
Gemm& eigen_gemm();
/// The BLAS that the library was linked with, null without one.
Gemm* blas_gemm();
/// "openblas", "mkl", "blas", or null without one.
const char* blas_name();
/// Tells the BLAS how many threads it may use, if it can be told.
void set_blas_thread_count(int count);

/// What is the same for every library: products that need none. True if that was all.
bool trivial_product(DType dtype, const GemmShape& shape, double beta, void* c);
/// What is the same for every library but for the product itself.
class CpuGemm : public Gemm {
 public:
  void linear(DType dtype, std::int64_t rows, std::int64_t in, std::int64_t out, const void* x,
              const void* weight, const void* bias, void* y, Queue queue) override;
  void linear_gradients(DType dtype, const LinearShape& shape, const LinearGradients& operands,
                        Queue queue) override;
};

}  // namespace lockstep::inline v0::backend::cpu
