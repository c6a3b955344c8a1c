// What cuBLASLt's opaque handles hold.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

struct cublasLtMatmulDescOpaque {
  std::int32_t compute_type = CUBLAS_COMPUTE_32F;
  std::int32_t scale_type = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transpose_a = CUBLAS_OP_N;
  std::int32_t transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;
  void* auxiliary = nullptr;
  std::int64_t auxiliary_leading_dimension = 0;
  std::int32_t bias_type = -1;  // as D
};

struct cublasLtMatrixLayoutOpaque {
  std::uint32_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading_dimension = 0;
  std::int32_t batch_count = 1;
  std::int64_t batch_stride = 0;  // elements
};

struct cublasLtMatmulPreferenceOpaque {
  std::uint32_t search_mode = 0;
  std::uint64_t maximum_workspace_bytes = 0;
  std::uint32_t minimum_alignment[4] = {256, 256, 256, 256};  // of A, B, C, D
};

namespace emulation {

using MatmulDescription = cublasLtMatmulDescOpaque;
using MatrixLayout = cublasLtMatrixLayoutOpaque;
using MatmulPreference = cublasLtMatmulPreferenceOpaque;

std::size_t element_bytes(std::uint32_t type);  // 0: not supported

// Counts the call, and gives the status to return at once if a test asked for one or the runtime
// is unusable.
cublasStatus_t begin_cublas_call(const char* name);
bool is_handle(cublasLtHandle_t handle);

}  // namespace emulation
