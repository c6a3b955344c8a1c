#include "emulation/src/cublaslt/descriptors.hpp"

#include <cstring>
#include <mutex>
#include <set>

#include "emulation/stream_queue.hpp"

struct cublasLtContext {};

namespace emulation {
namespace {

std::mutex handles_mutex;

std::set<cublasLtHandle_t>& handles() {
  static auto* the_handles = new std::set<cublasLtHandle_t>;
  return *the_handles;
}

template <typename T>
cublasStatus_t set(T& member, const void* from, std::size_t byte_count) {
  if (from == nullptr || byte_count != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, from, sizeof member);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t create(const char* name, T** into, const T& value) {
  if (const cublasStatus_t status = begin_cublas_call(name)) return status;
  if (into == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *into = new T(value);
  count_live("cublasLt", 1);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t destroy(const char* name, T* object) {
  if (const cublasStatus_t status = begin_cublas_call(name)) return status;
  if (object == nullptr) return CUBLAS_STATUS_SUCCESS;
  delete object;
  count_live("cublasLt", -1);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

std::size_t element_bytes(std::uint32_t type) {
  switch (type) {
    case CUDA_R_32F:
      return 4;
    case CUDA_R_64F:
      return 8;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    default:
      return 0;
  }
}

cublasStatus_t begin_cublas_call(const char* name) {
  const std::optional<int> failure = count_call(name);
  return failure ? static_cast<cublasStatus_t>(*failure) : CUBLAS_STATUS_SUCCESS;
}

bool is_handle(cublasLtHandle_t handle) {
  const std::lock_guard lock(handles_mutex);
  return handles().count(handle) > 0;
}

}  // namespace emulation

using namespace emulation;

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  if (const cublasStatus_t status = begin_cublas_call("cublasLtCreate")) return status;
  if (lightHandle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *lightHandle = new cublasLtContext;
  count_live("cublasLt", 1);
  const std::lock_guard lock(handles_mutex);
  handles().insert(*lightHandle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  if (const cublasStatus_t status = begin_cublas_call("cublasLtDestroy")) return status;
  const std::lock_guard lock(handles_mutex);
  if (handles().erase(lightHandle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete lightHandle;
  count_live("cublasLt", -1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmulDesc,
                                        cublasComputeType_t computeType, cudaDataType_t scaleType) {
  MatmulDescription description;
  description.compute_type = computeType;
  description.scale_type = scaleType;
  return create("cublasLtMatmulDescCreate", matmulDesc, description);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmulDesc) {
  return destroy("cublasLtMatmulDescDestroy", matmulDesc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attr, const void* buf,
                                              size_t size) {
  if (const auto status = begin_cublas_call("cublasLtMatmulDescSetAttribute")) return status;
  if (desc == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attr) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return set(desc->compute_type, buf, size);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return set(desc->scale_type, buf, size);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(desc->pointer_mode, buf, size);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(desc->transpose_a, buf, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(desc->transpose_b, buf, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(desc->epilogue, buf, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(desc->bias, buf, size);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return set(desc->bias_batch_stride, buf, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(desc->auxiliary, buf, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(desc->auxiliary_leading_dimension, buf, size);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(desc->bias_type, buf, size);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  MatrixLayout layout;
  layout.type = type;
  layout.rows = rows;
  layout.columns = cols;
  layout.leading_dimension = ld;
  return create("cublasLtMatrixLayoutCreate", matLayout, layout);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) {
  return destroy("cublasLtMatrixLayoutDestroy", matLayout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attr,
                                                const void* buf, size_t size) {
  if (const auto status = begin_cublas_call("cublasLtMatrixLayoutSetAttribute")) return status;
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(layout->type, buf, size);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(layout->order, buf, size);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(layout->rows, buf, size);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(layout->columns, buf, size);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(layout->leading_dimension, buf, size);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(layout->batch_count, buf, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(layout->batch_stride, buf, size);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  return create("cublasLtMatmulPreferenceCreate", pref, MatmulPreference{});
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  return destroy("cublasLtMatmulPreferenceDestroy", pref);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void* buf, size_t size) {
  if (const auto status = begin_cublas_call("cublasLtMatmulPreferenceSetAttribute")) return status;
  if (pref == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attr) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
      return set(pref->search_mode, buf, size);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(pref->maximum_workspace_bytes, buf, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(pref->minimum_alignment[attr - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], buf,
                 size);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

}  // extern "C"
