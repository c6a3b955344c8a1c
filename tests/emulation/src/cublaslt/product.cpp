#include "emulation/src/cublaslt/product.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace emulation {
namespace {

// One number of any of the types, by its index.
double load(const void* data, std::uint32_t type, std::int64_t index) {
  switch (type) {
    case CUDA_R_64F:
      return static_cast<const double*>(data)[index];
    case CUDA_R_16F:
      return half_value(static_cast<const std::uint16_t*>(data)[index]);
    case CUDA_R_16BF:
      return bfloat16_value(static_cast<const std::uint16_t*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

void store(void* data, std::uint32_t type, std::int64_t index, double value) {
  switch (type) {
    case CUDA_R_64F:
      static_cast<double*>(data)[index] = value;
      break;
    case CUDA_R_16F:
      static_cast<std::uint16_t*>(data)[index] = half_bits(value);
      break;
    case CUDA_R_16BF:
      static_cast<std::uint16_t*>(data)[index] = bfloat16_bits(static_cast<float>(value));
      break;
    default:
      static_cast<float*>(data)[index] = static_cast<float>(value);
  }
}

// TF32 keeps 10 bits of the fraction, rounded to nearest, ties away from zero.
float tf32(float value) {
  if (!std::isfinite(value)) return value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu);
}

float rounded_input(float value, std::int32_t compute_type) {
  switch (compute_type) {
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return tf32(value);
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return bfloat16_value(bfloat16_bits(value));
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return half_value(half_bits(value));
    default:
      return value;
  }
}
double rounded_input(double value, std::int32_t) { return value; }

// One matrix of a batch, as an operand that is stored by columns, perhaps transposed.
template <typename T>
struct Operand {
  const T* data = nullptr;
  std::int64_t step = 0;  // between stored columns
  bool transpose = false;
  std::vector<T> copy;  // where the stored numbers are not those to compute with

  T at(std::int64_t row, std::int64_t column) const {
    return transpose ? data[row * step + column] : data[column * step + row];
  }
};

template <typename T>
void read_operand(Operand<T>& operand, const MatrixLayout& layout, std::int32_t operation,
                  const void* data, int batch, std::int32_t compute_type) {
  const bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
  operand.transpose = (operation != CUBLAS_OP_N) != by_rows;
  operand.step = layout.leading_dimension;
  const std::int64_t offset = batch * layout.batch_stride;
  const bool as_stored = element_bytes(layout.type) == sizeof(T) &&
                         (sizeof(T) == 8 || compute_type == CUBLAS_COMPUTE_32F ||
                          compute_type == CUBLAS_COMPUTE_32F_PEDANTIC);
  if (as_stored) {
    operand.data = static_cast<const T*>(data) + offset;
    return;
  }
  const auto stored_rows = static_cast<std::int64_t>(by_rows ? layout.columns : layout.rows);
  const auto stored_columns = static_cast<std::int64_t>(by_rows ? layout.rows : layout.columns);
  operand.copy.resize(static_cast<std::size_t>(stored_rows * stored_columns));
  for (std::int64_t column = 0; column < stored_columns; ++column) {
    for (std::int64_t row = 0; row < stored_rows; ++row) {
      const double value = load(data, layout.type, offset + column * operand.step + row);
      operand.copy[static_cast<std::size_t>(column * stored_rows + row)] =
          rounded_input(static_cast<T>(value), compute_type);
    }
  }
  operand.data = operand.copy.data();
  operand.step = stored_rows;
}

// The tanh form.
template <typename T>
T gelu(T x) {
  const T inner = T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + std::tanh(inner));
}

template <typename T>
T scalar(const Product& product, double host, const void* device) {
  if (product.description.pointer_mode == CUBLASLT_POINTER_MODE_HOST) return static_cast<T>(host);
  return *static_cast<const T*>(device);
}

std::uint32_t bias_type(const Product& product) {
  const std::int32_t type = product.description.bias_type;
  return type < 0 ? product.d.type : static_cast<std::uint32_t>(type);
}

std::int64_t index_of(const MatrixLayout& layout, std::int64_t row, std::int64_t column,
                      int batch) {
  const bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
  const std::int64_t within =
      by_rows ? row * layout.leading_dimension + column : column * layout.leading_dimension + row;
  return batch * layout.batch_stride + within;
}

// A column of D at once, where nothing but the two factors is to be done.
template <typename T>
bool finish_plain(const Product& product, int batch, const std::vector<T>& sums, T alpha, T beta) {
  constexpr std::uint32_t kOwn = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  const std::uint32_t work =
      product.description.epilogue &
      (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_GELU);
  if (product.d.type != kOwn || product.d.order != CUBLASLT_ORDER_COL || work != 0) return false;
  const auto rows = static_cast<std::int64_t>(product.d.rows);
  for (std::int64_t column = 0; column < static_cast<std::int64_t>(product.d.columns); ++column) {
    const T* from = sums.data() + column * rows;
    T* to = static_cast<T*>(product.d_data) + index_of(product.d, 0, column, batch);
    if (beta == T{0}) {
      for (std::int64_t row = 0; row < rows; ++row) to[row] = alpha * from[row];
      continue;
    }
    const T* c = static_cast<const T*>(product.c_data) + index_of(product.c, 0, column, batch);
    for (std::int64_t row = 0; row < rows; ++row) to[row] = alpha * from[row] + beta * c[row];
  }
  return true;
}

template <typename T>
void finish(const Product& product, int batch, const std::vector<T>& sums) {
  const MatmulDescription& description = product.description;
  const T alpha = scalar<T>(product, product.host_alpha, product.device_alpha);
  const T beta = scalar<T>(product, product.host_beta, product.device_beta);
  if (finish_plain(product, batch, sums, alpha, beta)) return;
  const std::int64_t bias_offset = batch * description.bias_batch_stride;
  const auto rows = static_cast<std::int64_t>(product.d.rows);
  const auto columns = static_cast<std::int64_t>(product.d.columns);
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      T value = alpha * sums[static_cast<std::size_t>(column * rows + row)];
      if (beta != T{0}) {
        const std::int64_t index = index_of(product.c, row, column, batch);
        value += beta * static_cast<T>(load(product.c_data, product.c.type, index));
      }
      if ((description.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
        value += static_cast<T>(load(description.bias, bias_type(product), bias_offset + row));
      }
      if ((description.epilogue & CUBLASLT_EPILOGUE_RELU) != 0) value = value < T{0} ? T{0} : value;
      if ((description.epilogue & CUBLASLT_EPILOGUE_GELU) != 0) value = gelu(value);
      store(product.d_data, product.d.type, index_of(product.d, row, column, batch), value);
    }
  }
}

// Sums of op(A) or op(B) over what the product sums over.
template <typename T>
void bias_gradient(const Product& product, int batch, std::int64_t k, const Operand<T>& a,
                   const Operand<T>& b) {
  const bool of_a = product.description.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  if (!of_a && product.description.epilogue != CUBLASLT_EPILOGUE_BGRADB) return;
  const auto count = static_cast<std::int64_t>(of_a ? product.d.rows : product.d.columns);
  for (std::int64_t index = 0; index < count; ++index) {
    T sum{0};
    for (std::int64_t i = 0; i < k; ++i) sum += of_a ? a.at(index, i) : b.at(i, index);
    store(product.description.bias, bias_type(product),
          batch * product.description.bias_batch_stride + index, sum);
  }
}

template <typename T>
void compute_as(const Product& product) {
  const MatmulDescription& description = product.description;
  const bool a_is_transposed = description.transpose_a != CUBLAS_OP_N;
  const auto k = static_cast<std::int64_t>(a_is_transposed ? product.a.rows : product.a.columns);
  const auto m = static_cast<std::int64_t>(product.d.rows);
  const auto n = static_cast<std::int64_t>(product.d.columns);
  for (int batch = 0; batch < product.d.batch_count; ++batch) {
    Operand<T> a;
    Operand<T> b;
    read_operand(a, product.a, description.transpose_a, product.a_data, batch,
                 description.compute_type);
    read_operand(b, product.b, description.transpose_b, product.b_data, batch,
                 description.compute_type);
    std::vector<T> sums(static_cast<std::size_t>(m * n));
    if (k > 0) {
      multiply({m, n, k, a.transpose, b.transpose, a.step, b.step}, a.data, b.data, sums.data());
    }
    bias_gradient(product, batch, k, a, b);
    finish(product, batch, sums);
  }
}

}  // namespace

void compute(const Product& product) {
  // Two products that share a workspace at once would not work either.
  if (product.workspace_bytes > 0) std::memset(product.workspace, 0xff, product.workspace_bytes);
  const std::int32_t type = product.description.compute_type;
  if (type == CUBLAS_COMPUTE_64F || type == CUBLAS_COMPUTE_64F_PEDANTIC) {
    compute_as<double>(product);
  } else {
    compute_as<float>(product);
  }
}

}  // namespace emulation
