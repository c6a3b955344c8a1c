#pragma once

#include <cublasLt.h>

#include <compare>
#include <map>
#include <mutex>

#include "backend/cuda/launch.hpp"
#include "backend/cuda/owned.hpp"
#include "backend/gemm.hpp"

namespace lockstep::inline v0::backend::cuda {

using MatmulDescription = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatrixLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using MatmulPreference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// Matrix products through cublasLt. Row-major operands go in as they are: a row-major matrix is
/// the column-major one of its transpose, so c = a b is asked for as c^T = b^T a^T.
class CudaGemm final : public Gemm, private OnDevice {
 public:
  explicit CudaGemm(int index);

  void multiply(DType dtype, const GemmShape& shape, const void* a, const void* b, double beta,
                void* c, Queue queue) override;
  void linear(DType dtype, std::int64_t rows, std::int64_t in, std::int64_t out, const void* x,
              const void* weight, const void* bias, void* y, Queue queue) override;
  void linear_gradients(DType dtype, const LinearShape& shape, const LinearGradients& operands,
                        Queue queue) override;

  /// What a plan is cached by.
  struct Key {
    DType dtype = DType::float32;
    bool tf32 = false;
    GemmShape shape;
    int epilogue = 0;
    bool aligned = true;  // all operands, to 16 bytes
    friend auto operator<=>(const Key&, const Key&) = default;
  };

 private:
  struct Plan {
    MatmulDescription operation;
    MatrixLayout a;  // of the column-major product: our b
    MatrixLayout b;
    MatrixLayout c;
    cublasLtMatmulAlgo_t algorithm{};
    std::int64_t workspace = 0;  // bytes
    bool available = false;      // an algorithm was found
  };

  Plan make_plan(const Key& key);
  void find_algorithm(const Key& key, Plan& plan);
  /// False if cublasLt has no algorithm for it.
  bool run(Key key, const void* a, const void* b, double beta, void* c, void* bias, Queue queue);
  /// c *= beta: a product over nothing.
  void scale_result(DType dtype, std::int64_t count, double beta, void* c, Queue queue);

  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<Key, Plan> plans_;
};

}  // namespace lockstep::inline v0::backend::cuda
