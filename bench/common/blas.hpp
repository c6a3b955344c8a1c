// The bare calls that lockstep is compared with. Prototypes, because cblas.h lies elsewhere on each
// distribution.
#pragma once

extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void cblas_sgemv(int order, int transpose, int m, int n, float alpha, const float* a, int lda,
                 const float* x, int incx, float beta, float* y, int incy);
}

namespace bench::blas {

inline constexpr int kRowMajor = 101;
inline constexpr int kPlain = 111;
inline constexpr int kTransposed = 112;

}  // namespace bench::blas
