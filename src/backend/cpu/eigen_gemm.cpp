#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/gemm_libraries.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

class EigenGemm final : public Gemm {
 public:
  void multiply(DType dtype, const GemmShape& shape, const void* a, const void* b, double beta,
                void* c, Queue) override {
    if (trivial_product(dtype, shape, beta, c)) return;
    with_float_type("gemm", dtype, [&]<class T>(Type<T>) {
      kernels_for<T>().eigen->multiply(
          {shape.transpose_a, shape.transpose_b, shape.m, shape.n, shape.k},
          static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T>(beta),
          static_cast<T*>(c));
    });
  }

  void linear(DType dtype, std::int64_t rows, std::int64_t in, std::int64_t out, const void* x,
              const void* weight, const void* bias, void* y, Queue queue) override {
    if (bias != nullptr) fill_rows(dtype, rows, out, bias, y);
    multiply(dtype, {.transpose_b = true, .m = rows, .n = out, .k = in}, x, weight,
             bias != nullptr ? 1 : 0, y, queue);
  }
};

}  // namespace

Gemm& eigen_gemm() {
  static EigenGemm gemm;
  return gemm;
}

}  // namespace lockstep::inline v0::backend::cpu
