// The product where there is a BLAS.
#include <cblas.h>

#include "emulation/src/cublaslt/product.hpp"

namespace emulation {
namespace {

CBLAS_TRANSPOSE operation(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

}  // namespace

void multiply(const PlainProduct& sizes, const float* a, const float* b, float* c) {
  const auto m = static_cast<int>(sizes.m);
  cblas_sgemm(CblasColMajor, operation(sizes.transpose_a), operation(sizes.transpose_b), m,
              static_cast<int>(sizes.n), static_cast<int>(sizes.k), 1.0f, a,
              static_cast<int>(sizes.a_step), b, static_cast<int>(sizes.b_step), 0.0f, c, m);
}

void multiply(const PlainProduct& sizes, const double* a, const double* b, double* c) {
  const auto m = static_cast<int>(sizes.m);
  cblas_dgemm(CblasColMajor, operation(sizes.transpose_a), operation(sizes.transpose_b), m,
              static_cast<int>(sizes.n), static_cast<int>(sizes.k), 1.0, a,
              static_cast<int>(sizes.a_step), b, static_cast<int>(sizes.b_step), 0.0, c, m);
}

}  // namespace emulation
