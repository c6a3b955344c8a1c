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
/// Writes the bias into every row of y (rows, out).
void fill_rows(DType dtype, std::int64_t rows, std::int64_t out, const void* bias, void* y);

}  // namespace lockstep::inline v0::backend::cpu
