#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/gemm_libraries.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace {

class EigenGemm final : public CpuGemm {
 public:
  void multiply_one(DType dtype, const GemmShape& shape, const void* a, const void* b, double beta,
                    void* c) override {
    with_float_type("gemm", dtype, [&]<class T>(Type<T>) {
      kernels_for<T>().eigen->multiply(
          {shape.transpose_a, shape.transpose_b, shape.m, shape.n, shape.k},
          static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T>(beta),
          static_cast<T*>(c));
    });
  }
};

}  // namespace

CpuGemm& eigen_gemm() {
  static EigenGemm gemm;
  return gemm;
}

}  // namespace lockstep::inline v0::backend::cpu
