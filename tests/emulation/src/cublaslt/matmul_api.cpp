// cublasLtMatmul, the choice of its algorithm, and the texts of statuses.
#include <cstring>

#include "emulation/src/cublaslt/checks.hpp"
#include "emulation/src/cublaslt/product.hpp"

using namespace emulation;

namespace {

class ProductOperation : public Operation {
 public:
  explicit ProductOperation(const Product& product) : product_(product) {}
  Progress run() override {
    compute(product_);
    return Progress::done;
  }
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<ProductOperation>(product_);
  }

 private:
  Product product_;
};

Algorithm unpack(const cublasLtMatmulAlgo_t& algo) {
  Algorithm algorithm;
  static_assert(sizeof algorithm <= sizeof algo);
  std::memcpy(&algorithm, &algo, sizeof algorithm);
  return algorithm;
}

// Without a given algorithm one is looked for that suits the pointers as they are.
Algorithm default_algorithm(const Product& product, std::size_t workspace_bytes) {
  MatmulPreference preference;
  preference.maximum_workspace_bytes = workspace_bytes;
  const void* pointers[] = {product.a_data, product.b_data, product.c_data, product.d_data};
  for (int i = 0; i < 4; ++i) {
    std::uint32_t& alignment = preference.minimum_alignment[i];
    while (reinterpret_cast<std::uintptr_t>(pointers[i]) % alignment != 0) alignment /= 2;
  }
  return choose_algorithm(preference, product.a, product.b, product.c, product.d);
}

double host_scalar(const void* pointer, std::int32_t type) {
  return type == CUDA_R_64F ? *static_cast<const double*>(pointer)
                            : *static_cast<const float*>(pointer);
}

cublasStatus_t read_scalars(Product& product, const void* alpha, const void* beta) {
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const MatmulDescription& description = product.description;
  if (description.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
    const std::size_t bytes = element_bytes(static_cast<std::uint32_t>(description.scale_type));
    if (!is_device_memory(alpha, bytes) || !is_device_memory(beta, bytes)) {
      return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    product.device_alpha = alpha;
    product.device_beta = beta;
    return CUBLAS_STATUS_SUCCESS;
  }
  product.host_alpha = host_scalar(alpha, description.scale_type);
  product.host_beta = host_scalar(beta, description.scale_type);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t matmul(Product& product, const void* alpha, const void* beta,
                      const cublasLtMatmulAlgo_t* algo, std::size_t workspace_bytes,
                      cudaStream_t stream) {
  if (const auto status =
          check_problem(product.description, product.a, product.b, product.c, product.d)) {
    return status;
  }
  if (const auto status = read_scalars(product, alpha, beta)) return status;
  if (const auto status = check_memory(product)) return status;
  const Algorithm algorithm =
      algo != nullptr ? unpack(*algo) : default_algorithm(product, workspace_bytes);
  if (const auto status = check_algorithm(algorithm, product, workspace_bytes)) return status;
  product.workspace_bytes = algorithm.workspace_bytes;
  // The launch of its kernel is what a dead context makes fail.
  const cudaError_t error = cudaPeekAtLastError();
  if (error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  const cudaError_t queued = enqueue(stream, std::make_unique<ProductOperation>(product));
  return queued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

const char* status_name(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) { return status_name(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return status_name(status); }
const char* cublasGetStatusName(cublasStatus_t status) { return status_name(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return status_name(status); }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
    cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
    cublasLtMatmulPreference_t preference, int requestedAlgoCount,
    cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int* returnAlgoCount) {
  if (const auto status = begin_cublas_call("cublasLtMatmulAlgoGetHeuristic")) return status;
  if (!is_handle(lightHandle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool given = operationDesc && Adesc && Bdesc && Cdesc && Ddesc && preference &&
                     heuristicResultsArray && returnAlgoCount;
  if (!given || requestedAlgoCount <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  *returnAlgoCount = 0;
  if (const auto status = check_problem(*operationDesc, *Adesc, *Bdesc, *Cdesc, *Ddesc)) {
    return status;
  }
  const Algorithm algorithm = choose_algorithm(*preference, *Adesc, *Bdesc, *Cdesc, *Ddesc);
  cublasLtMatmulHeuristicResult_t result{};
  std::memcpy(&result.algo, &algorithm, sizeof algorithm);
  result.workspaceSize = algorithm.workspace_bytes;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  heuristicResultsArray[0] = result;
  *returnAlgoCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                              const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta,
                              const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  if (const auto status = begin_cublas_call("cublasLtMatmul")) return status;
  if (!is_handle(lightHandle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!computeDesc || !Adesc || !Bdesc || !Cdesc || !Ddesc) return CUBLAS_STATUS_INVALID_VALUE;
  Product product;
  product.description = *computeDesc;
  product.a = *Adesc;
  product.b = *Bdesc;
  product.c = *Cdesc;
  product.d = *Ddesc;
  product.a_data = A;
  product.b_data = B;
  product.c_data = C;
  product.d_data = D;
  product.workspace = workspace;
  return matmul(product, alpha, beta, algo, workspaceSizeInBytes, stream);
}

}  // extern "C"
