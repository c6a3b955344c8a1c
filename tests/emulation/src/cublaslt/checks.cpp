#include "emulation/src/cublaslt/checks.hpp"

#include <algorithm>
#include <cstdio>

namespace emulation {
namespace {

constexpr std::uint64_t kMark = 0x6d61746d756c2121u;
constexpr std::uint32_t kVectorBytes = 16;  // what the fast algorithms load at once
constexpr std::size_t kWorkspaceAlignment = 256;
constexpr std::uint64_t kWorkspaceBytes = 65536;  // what an algorithm for a long sum asks for
constexpr std::uint64_t kLongSum = 512;
constexpr std::int32_t kMostProducts = 65535;  // an extent of a grid, which a batch may become

bool is_double(const MatmulDescription& description) {
  return description.compute_type == CUBLAS_COMPUTE_64F ||
         description.compute_type == CUBLAS_COMPUTE_64F_PEDANTIC;
}

bool types_are_supported(const MatmulDescription& description, const MatrixLayout& a,
                         const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d) {
  if (a.type != b.type || c.type != d.type) return false;
  if (is_double(description)) {
    return description.scale_type == CUDA_R_64F && a.type == CUDA_R_64F && d.type == CUDA_R_64F;
  }
  if (description.scale_type != CUDA_R_32F || a.type == CUDA_R_64F) return false;
  const bool is_half = a.type == CUDA_R_16F || a.type == CUDA_R_16BF;
  if (a.type != CUDA_R_32F && !is_half) return false;
  switch (description.compute_type) {
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return d.type == a.type || d.type == CUDA_R_32F;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return !is_half && d.type == CUDA_R_32F;
    default:
      return false;
  }
}

bool epilogue_is_supported(const MatmulDescription& description, const MatrixLayout& d) {
  switch (description.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return true;
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      break;
    default:
      return false;
  }
  const std::int32_t bias = description.bias_type;
  const bool bias_fits =
      bias < 0 || bias == static_cast<std::int32_t>(d.type) || bias == CUDA_R_32F;
  return !is_double(description) && d.order == CUBLASLT_ORDER_COL && bias_fits;
}

bool layout_is_valid(const MatrixLayout& layout) {
  if (layout.rows == 0 || layout.columns == 0 || layout.batch_count < 1) return false;
  if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW) return false;
  const std::uint64_t inner = layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns;
  return layout.leading_dimension >= static_cast<std::int64_t>(inner);
}

// Elements from the first of a matrix to its last.
std::int64_t matrix_span(const MatrixLayout& layout) {
  const bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
  const auto outer = static_cast<std::int64_t>(by_rows ? layout.rows : layout.columns);
  const auto inner = static_cast<std::int64_t>(by_rows ? layout.columns : layout.rows);
  return (outer - 1) * layout.leading_dimension + inner;
}

std::size_t span_bytes(const MatrixLayout& layout) {
  const std::int64_t elements =
      (layout.batch_count - 1) * layout.batch_stride + matrix_span(layout);
  return static_cast<std::size_t>(elements) * element_bytes(layout.type);
}

bool is_aligned(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

cublasStatus_t check_operand(const char* name, const void* data, const MatrixLayout& layout) {
  if (data == nullptr || !is_aligned(data, element_bytes(layout.type))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (is_device_memory(data, span_bytes(layout))) return CUBLAS_STATUS_SUCCESS;
  std::fprintf(stderr,
               "stand-in: %s of cublasLtMatmul, %zu bytes at %p, is not in one allocation "
               "of device memory\n",
               name, span_bytes(layout), data);
  return CUBLAS_STATUS_EXECUTION_FAILED;
}

// The most that pointers and distances of this matrix let one load take at once.
std::uint32_t usable_alignment(std::uint32_t of_pointer, const MatrixLayout& layout) {
  const auto bytes = static_cast<std::int64_t>(element_bytes(layout.type));
  std::uint32_t usable = std::min(of_pointer, kVectorBytes);
  while (layout.leading_dimension * bytes % usable != 0 ||
         (layout.batch_count > 1 && layout.batch_stride * bytes % usable != 0)) {
    usable /= 2;
  }
  return usable;
}

}  // namespace

cublasStatus_t check_problem(const MatmulDescription& description, const MatrixLayout& a,
                             const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d) {
  for (const MatrixLayout* layout : {&a, &b, &c, &d}) {
    if (!layout_is_valid(*layout)) return CUBLAS_STATUS_INVALID_VALUE;
    if (layout->batch_count != d.batch_count) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (d.batch_count > 1 && d.batch_stride < matrix_span(d)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool a_is_transposed = description.transpose_a != CUBLAS_OP_N;
  const bool b_is_transposed = description.transpose_b != CUBLAS_OP_N;
  const std::uint64_t m = a_is_transposed ? a.columns : a.rows;
  const std::uint64_t k = a_is_transposed ? a.rows : a.columns;
  const std::uint64_t b_rows = b_is_transposed ? b.columns : b.rows;
  const std::uint64_t n = b_is_transposed ? b.rows : b.columns;
  if (k != b_rows || d.rows != m || d.columns != n || c.rows != m || c.columns != n) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool supported = types_are_supported(description, a, b, c, d) &&
                         epilogue_is_supported(description, d) && c.order == d.order &&
                         d.batch_count <= kMostProducts;
  return supported ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_memory(const Product& product) {
  if (const auto status = check_operand("A", product.a_data, product.a)) return status;
  if (const auto status = check_operand("B", product.b_data, product.b)) return status;
  if (const auto status = check_operand("D", product.d_data, product.d)) return status;
  const bool device_beta = product.description.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  if (device_beta || product.host_beta != 0) {
    if (const auto status = check_operand("C", product.c_data, product.c)) return status;
  }
  if (product.c_data == product.d_data &&
      product.c.leading_dimension != product.d.leading_dimension) {
    return CUBLAS_STATUS_INVALID_VALUE;  // in place only with one layout
  }
  const std::uint32_t epilogue = product.description.epilogue;
  const bool has_bias =
      (epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) !=
      0;
  if (!has_bias) return CUBLAS_STATUS_SUCCESS;
  MatrixLayout bias;
  const std::int32_t type = product.description.bias_type;
  bias.type = type < 0 ? product.d.type : static_cast<std::uint32_t>(type);
  bias.rows = epilogue == CUBLASLT_EPILOGUE_BGRADB ? product.d.columns : product.d.rows;
  bias.columns = 1;
  bias.leading_dimension = static_cast<std::int64_t>(bias.rows);
  bias.batch_count = product.d.batch_count;
  bias.batch_stride = product.description.bias_batch_stride;
  return check_operand("the bias", product.description.bias, bias);
}

Algorithm choose_algorithm(const MatmulPreference& preference, const MatrixLayout& a,
                           const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d) {
  Algorithm algorithm{kMark, {}, 0};
  const MatrixLayout* layouts[] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; ++i) {
    algorithm.alignment[i] = usable_alignment(preference.minimum_alignment[i], *layouts[i]);
  }
  const bool is_long = std::max(a.rows, a.columns) >= kLongSum;
  if (is_long && preference.maximum_workspace_bytes >= kWorkspaceBytes) {
    algorithm.workspace_bytes = kWorkspaceBytes;
  }
  return algorithm;
}

cublasStatus_t check_algorithm(const Algorithm& algorithm, const Product& product,
                               std::size_t workspace_bytes) {
  if (algorithm.mark != kMark) return CUBLAS_STATUS_INVALID_VALUE;
  const void* pointers[] = {product.a_data, product.b_data, product.c_data, product.d_data};
  for (int i = 0; i < 4; ++i) {
    if (!is_aligned(pointers[i], algorithm.alignment[i])) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (algorithm.workspace_bytes == 0) return CUBLAS_STATUS_SUCCESS;
  const bool enough = workspace_bytes >= algorithm.workspace_bytes &&
                      is_aligned(product.workspace, kWorkspaceAlignment) &&
                      is_device_memory(product.workspace, workspace_bytes);
  return enough ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace emulation
