// What the tests of matrix products share: owners of cuBLASLt's handles, and numbers to multiply.
#pragma once

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "emulation/tests/device.hpp"

namespace emulated_test {

inline void check(cublasStatus_t status) {
  INFO(cublasLtGetStatusName(status));
  REQUIRE(status == CUBLAS_STATUS_SUCCESS);
}

// Small whole numbers, so that every order of summation gives the same.
inline double number(std::int64_t index) { return static_cast<double>(index * 7 % 11) - 5; }

template <typename T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(number(static_cast<std::int64_t>(i))));
  }
  return values;
}

template <typename T>
constexpr cudaDataType_t kType = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
template <>
constexpr cudaDataType_t kType<__nv_bfloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType_t kType<__half> = CUDA_R_16F;

struct Layout {
  Layout(cudaDataType_t type, std::uint64_t rows, std::uint64_t columns, std::int64_t step) {
    check(cublasLtMatrixLayoutCreate(&handle, type, rows, columns, step));
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { cublasLtMatrixLayoutDestroy(handle); }
  template <typename T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, T value) {
    check(cublasLtMatrixLayoutSetAttribute(handle, attribute, &value, sizeof value));
  }
  cublasLtMatrixLayout_t handle = nullptr;
};

struct Description {
  explicit Description(cublasComputeType_t compute, cudaDataType_t scale = CUDA_R_32F) {
    check(cublasLtMatmulDescCreate(&handle, compute, scale));
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() { cublasLtMatmulDescDestroy(handle); }
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    check(cublasLtMatmulDescSetAttribute(handle, attribute, &value, sizeof value));
  }
  cublasLtMatmulDesc_t handle = nullptr;
};

struct Handle {
  Handle() { check(cublasLtCreate(&handle)); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { cublasLtDestroy(handle); }
  cublasLtHandle_t handle = nullptr;
};

}  // namespace emulated_test
