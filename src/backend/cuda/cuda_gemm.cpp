#include "backend/cuda/cuda_gemm.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

constexpr std::int64_t kWorkspace = 32 * 1024 * 1024;  // what NVIDIA advises for Hopper
constexpr std::int64_t kMostProducts = 65535;          // of a batch: an extent of a CUDA grid

bool tf32_from_environment() {
  const char* text = std::getenv("LOCKSTEP_TF32");
  if (text == nullptr || *text == '\0') return false;
  const std::string_view choice = text;
  if (choice == "1") return true;
  if (choice == "0") return false;
  throw InvalidUsage("LOCKSTEP_TF32 is \"" + std::string(choice) + "\"; it must be 0 or 1");
}

std::atomic<bool>& tf32_setting() {
  static std::atomic<bool> setting{tf32_from_environment()};
  return setting;
}

bool tf32() { return tf32_setting(); }

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return CUDA_R_32F;
    case DType::float64:
      return CUDA_R_64F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    case DType::float16:
      return CUDA_R_16F;
    default:
      throw InvalidUsage(std::string("[cublas] a matrix product of ") + name(dtype) +
                         " is not offered; convert with to()");
  }
}

cublasComputeType_t compute_type(const CudaGemm::Key& key) {
  if (key.dtype == DType::float64) return CUBLAS_COMPUTE_64F;
  if (key.dtype == DType::float32 && key.tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  return CUBLAS_COMPUTE_32F;
}

template <class Value>
void set(const MatmulDescription& operation, cublasLtMatmulDescAttributes_t attribute,
         Value value) {
  check_blas(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value),
             "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t attribute, Value value) {
  check_blas(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
             "cublasLtMatrixLayoutSetAttribute");
}

void set_batch(const MatrixLayout& layout, std::int64_t batch, std::int64_t stride) {
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
}

/// A column-major matrix without gaps.
MatrixLayout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), rows),
             "cublasLtMatrixLayoutCreate");
  return MatrixLayout(layout);
}

/// A row-major (rows, columns) matrix, seen column-major.
MatrixLayout row_major_layout(cudaDataType_t type, bool transposed, std::int64_t rows,
                              std::int64_t columns) {
  return transposed ? make_layout(type, rows, columns) : make_layout(type, columns, rows);
}

}  // namespace

CudaGemm::CudaGemm(int index) : OnDevice(index) {
  tf32();  // a variable that cannot be read is said at the first use of a device
  const DeviceGuard guard(index);
  check_blas(cublasLtCreate(&handle_), "cublasLtCreate");
}

CudaGemm::Plan CudaGemm::make_plan(const Key& key) {
  const cudaDataType_t type = data_type(key.dtype);
  const auto& [transpose_a, transpose_b, m, n, k, batch, a_stride, b_stride] = key.shape;
  Plan plan;
  cublasLtMatmulDesc_t operation = nullptr;
  check_blas(cublasLtMatmulDescCreate(&operation, compute_type(key),
                                      key.dtype == DType::float64 ? CUDA_R_64F : CUDA_R_32F),
             "cublasLtMatmulDescCreate");
  plan.operation = MatmulDescription(operation);
  set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(key.epilogue));
  plan.a = row_major_layout(type, transpose_b, k, n);
  plan.b = row_major_layout(type, transpose_a, m, k);
  plan.c = row_major_layout(type, false, m, n);
  if (batch > 1) {
    set_batch(plan.a, batch, b_stride);
    set_batch(plan.b, batch, a_stride);
    set_batch(plan.c, batch, m * n);
  }
  find_algorithm(key, plan);
  return plan;
}

void CudaGemm::find_algorithm(const Key& key, Plan& plan) {
  // Blocks of the allocator lie at 256 bytes, but a parameter or a borrowed pointer may start at
  // any element: ask for what holds always where the shape is odd.
  const auto alignment = static_cast<std::uint32_t>(byte_size(key.dtype));
  cublasLtMatmulPreference_t made = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  const MatmulPreference preference(made);
  const auto ask = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_blas(
        cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
  };
  ask(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kWorkspace));
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.aligned ? 16U : alignment);
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.aligned ? 16U : alignment);
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.aligned ? 16U : alignment);
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.aligned ? 16U : alignment);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const int status = cublasLtMatmulAlgoGetHeuristic(handle_, plan.operation.get(), plan.a.get(),
                                                    plan.b.get(), plan.c.get(), plan.c.get(),
                                                    preference.get(), 1, &found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0))
    return;
  check_blas(status, "cublasLtMatmulAlgoGetHeuristic");
  plan.algorithm = found.algo;
  plan.workspace = static_cast<std::int64_t>(found.workspaceSize);
  plan.available = true;
}

bool CudaGemm::run(Key key, const void* a, const void* b, double beta, void* c, void* bias,
                   Queue queue) {
  const auto aligned = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
  };
  key.aligned = aligned(a) && aligned(b) && aligned(c) && aligned(bias);
  key.tf32 = key.dtype == DType::float32 && tf32();
  const DeviceGuard guard(index());
  // cublasLt reads the bias pointer from the description, so a plan is used by one thread at a
  // time.
  const std::lock_guard lock(mutex_);
  auto it = plans_.find(key);
  if (it == plans_.end()) it = plans_.emplace(key, make_plan(key)).first;
  const Plan& plan = it->second;
  if (!plan.available) return false;
  if (bias != nullptr) set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const Scratch workspace(index(), plan.workspace, queue);
  const double alpha64 = 1;
  const float alpha32 = 1;
  const auto beta32 = static_cast<float>(beta);
  const bool wide = key.dtype == DType::float64;
  check_blas(cublasLtMatmul(handle_, plan.operation.get(),
                            wide ? static_cast<const void*>(&alpha64) : &alpha32, b, plan.a.get(),
                            a, plan.b.get(), wide ? static_cast<const void*>(&beta) : &beta32, c,
                            plan.c.get(), c, plan.c.get(), &plan.algorithm, workspace.data(),
                            static_cast<std::size_t>(plan.workspace), stream_of(queue)),
             "cublasLtMatmul");
  return true;
}

void CudaGemm::multiply(DType dtype, const GemmShape& shape, const void* a, const void* b,
                        double beta, void* c, Queue queue) {
  const std::int64_t count = shape.m * shape.n;
  if (count == 0 || shape.batch == 0) return;
  if (shape.k == 0) {
    scale_result(dtype, shape.batch * count, beta, c, queue);
    return;
  }
  const std::int64_t element = byte_size(dtype);
  Key key{.dtype = dtype, .shape = shape, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
  for (std::int64_t i = 0; i < shape.batch; i += kMostProducts) {
    key.shape.batch = std::min(kMostProducts, shape.batch - i);
    if (!run(key, static_cast<const std::byte*>(a) + i * shape.a_stride * element,
             static_cast<const std::byte*>(b) + i * shape.b_stride * element, beta,
             static_cast<std::byte*>(c) + i * count * element, nullptr, queue))
      throw DeviceError("[cublas] no algorithm for a product of " + std::to_string(shape.m) +
                            " x " + std::to_string(shape.k) + " by " + std::to_string(shape.k) +
                            " x " + std::to_string(shape.n) + " in " + name(dtype),
                        CUBLAS_STATUS_NOT_SUPPORTED);
  }
}

void CudaGemm::scale_result(DType dtype, std::int64_t count, double beta, void* c, Queue queue) {
  DeviceState& device = device_state(index());
  if (beta == 0)
    device.memory().set_zero(c, count * byte_size(dtype), queue);
  else if (beta != 1)
    device.backend().elementwise.scale(dtype, beta, c, count, queue);
}

void CudaGemm::linear(DType dtype, std::int64_t rows, std::int64_t in, std::int64_t out,
                      const void* x, const void* weight, const void* bias, void* y, Queue queue) {
  if (rows == 0 || out == 0) return;
  const GemmShape shape{.transpose_b = true, .m = rows, .n = out, .k = in};
  // cublasLt has no float64 epilogues.
  if (bias != nullptr && in > 0 && dtype != DType::float64 &&
      run({.dtype = dtype, .shape = shape, .epilogue = CUBLASLT_EPILOGUE_BIAS}, x, weight, 0, y,
          const_cast<void*>(bias), queue))
    return;
  multiply(dtype, shape, x, weight, 0, y, queue);
  if (bias == nullptr) return;
  const Broadcast rows_of_bias{
      .axes = 2, .sizes = {rows, out}, .a_strides = {out, 1}, .b_strides = {0, 1}};
  device_state(index()).backend().elementwise.binary(BinaryOperation::add, dtype, rows_of_bias, y,
                                                     bias, y, queue);
}

void CudaGemm::linear_gradients(DType dtype, const LinearShape& shape,
                                const LinearGradients& operands, Queue queue) {
  const auto& [rows, in, out] = shape;
  const GemmShape product{.transpose_a = true, .m = out, .n = in, .k = rows};
  // The sum over the rows of the gradient may come with the product that reads them. It is added
  // up in float32, in cuBLAS's own order, so only for types or a mode that are no more exact; and
  // it cannot be added to what is there.
  const bool coarse =
      dtype == DType::bfloat16 || dtype == DType::float16 || (dtype == DType::float32 && tf32());
  const bool fused = operands.bias != nullptr && !operands.accumulate_bias && coarse && rows > 0 &&
                     in > 0 && out > 0 &&
                     run({.dtype = dtype, .shape = product, .epilogue = CUBLASLT_EPILOGUE_BGRADB},
                         operands.gradient, operands.x, operands.accumulate_weight ? 1 : 0,
                         operands.weight, operands.bias, queue);
  if (fused) return;
  if (operands.bias != nullptr)
    device_state(index()).backend().reduction.sum(dtype, operands.gradient, 1, rows, out, 1.0,
                                                  operands.accumulate_bias, operands.bias, queue);
  multiply(dtype, product, operands.gradient, operands.x, operands.accumulate_weight ? 1 : 0,
           operands.weight, queue);
}

}  // namespace lockstep::inline v0::backend::cuda

namespace lockstep::inline v0::backend {

void cuda_allow_tf32(bool allowed) { cuda::tf32_setting() = allowed; }
bool cuda_tf32_allowed() { return cuda::tf32_setting(); }

}  // namespace lockstep::inline v0::backend
