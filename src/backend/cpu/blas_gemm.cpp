// Matrix products by the BLAS that CMake found, through its C interface with 32-bit integers.
#include <dlfcn.h>

#include <algorithm>
#include <climits>

#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/gemm_libraries.hpp"

// The prototypes, rather than a header: where cblas.h lies, and whether it is there, differs
// between distributions.
extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void cblas_dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                 const double* a, int lda, const double* b, int ldb, double beta, double* c,
                 int ldc);
void cblas_sgemv(int order, int transpose, int m, int n, float alpha, const float* a, int lda,
                 const float* x, int incx, float beta, float* y, int incy);
void cblas_dgemv(int order, int transpose, int m, int n, double alpha, const double* a, int lda,
                 const double* x, int incx, double beta, double* y, int incy);
}

namespace lockstep::inline v0::backend::cpu {
namespace {

constexpr int kRowMajor = 101;
constexpr int kPlain = 111;
constexpr int kTransposed = 112;

struct Product {
  int transpose_a;
  int transpose_b;
  int m;
  int n;
  int k;
  int lda;
  int ldb;
};

void call_blas(const Product& p, const float* a, const float* b, float beta, float* c) {
  cblas_sgemm(kRowMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, 1.0F, a, p.lda, b, p.ldb,
              beta, c, p.n);
}
void call_blas(const Product& p, const double* a, const double* b, double beta, double* c) {
  cblas_dgemm(kRowMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, 1.0, a, p.lda, b, p.ldb, beta,
              c, p.n);
}

/// A matrix as it lies in memory, by a vector.
struct VectorProduct {
  int transpose;
  int rows;
  int columns;
};

void call_blas(const VectorProduct& p, const float* matrix, const float* x, float beta, float* y) {
  cblas_sgemv(kRowMajor, p.transpose, p.rows, p.columns, 1.0F, matrix, p.columns, x, 1, beta, y, 1);
}
void call_blas(const VectorProduct& p, const double* matrix, const double* x, double beta,
               double* y) {
  cblas_dgemv(kRowMajor, p.transpose, p.rows, p.columns, 1.0, matrix, p.columns, x, 1, beta, y, 1);
}

template <class T>
void multiply_by_blas(const Product& p, const T* a, const T* b, T beta, T* c) {
  // gemm rearranges a whole matrix before it uses it once.
  if (p.m == 1) {
    const bool lies_as_written = p.transpose_b == kPlain;
    call_blas(
        VectorProduct{lies_as_written ? kTransposed : kPlain, lies_as_written ? p.k : p.n, p.ldb},
        b, a, beta, c);
  } else if (p.n == 1) {
    call_blas(VectorProduct{p.transpose_a, p.transpose_a == kPlain ? p.m : p.k, p.lda}, a, b, beta,
              c);
  } else {
    call_blas(p, a, b, beta, c);
  }
}

class BlasGemm final : public CpuGemm {
 public:
  void multiply_one(DType dtype, const GemmShape& shape, const void* a, const void* b, double beta,
                    void* c) override {
    // Eigen counts in 64 bits.
    if (std::max({shape.m, shape.n, shape.k}) > INT_MAX)
      return eigen_gemm().multiply_one(dtype, shape, a, b, beta, c);
    const Product product = {
        .transpose_a = shape.transpose_a ? kTransposed : kPlain,
        .transpose_b = shape.transpose_b ? kTransposed : kPlain,
        .m = static_cast<int>(shape.m),
        .n = static_cast<int>(shape.n),
        .k = static_cast<int>(shape.k),
        .lda = static_cast<int>(shape.transpose_a ? shape.m : shape.k),
        .ldb = static_cast<int>(shape.transpose_b ? shape.k : shape.n),
    };
    with_float_type("gemm", dtype, [&]<class T>(Type<T>) {
      multiply_by_blas(product, static_cast<const T*>(a), static_cast<const T*>(b),
                       static_cast<T>(beta), static_cast<T*>(c));
    });
  }
};

using SetThreads = void (*)(int);

SetThreads find(const char* name) {
  return reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

CpuGemm* blas_gemm() {
  static BlasGemm gemm;
  return &gemm;
}

const char* blas_name() {
  if (find("openblas_set_num_threads") != nullptr) return "openblas";
  return find("MKL_Set_Num_Threads") != nullptr ? "mkl" : "blas";
}

void set_blas_thread_count(int count) {
  for (const char* name : {"openblas_set_num_threads", "MKL_Set_Num_Threads"})
    if (const SetThreads set = find(name)) set(count);
}

}  // namespace lockstep::inline v0::backend::cpu
