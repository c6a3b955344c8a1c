// Layer normalization of rows. float32 and float64; statistics and sums in float64.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

struct LayerNormShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double epsilon = 1e-5;
};

/// result = (x - mean) / sqrt(variance + epsilon) * weight + bias; weight and bias may be null.
/// `statistics` (rows, 2) receives the mean and the factor 1 / sqrt(variance + epsilon).
cudaError_t layer_norm(Type type, const LayerNormShape& shape, const void* x, const void* weight,
                       const void* bias, void* result, double* statistics, cudaStream_t stream);

struct LayerNormGradients {
  const void* gradient = nullptr;
  const void* x = nullptr;
  const void* weight = nullptr;  // null: ones
  const double* statistics = nullptr;
  void* dx = nullptr;       // null: not wanted
  void* dweight = nullptr;  // null: not wanted
  void* dbias = nullptr;    // null: not wanted
};

/// `workspace`: layer_norm_backward_workspace_bytes() of device memory, null if that is 0.
cudaError_t layer_norm_backward(Type type, const LayerNormShape& shape,
                                const LayerNormGradients& arrays, void* workspace,
                                cudaStream_t stream);
std::int64_t layer_norm_backward_workspace_bytes(const LayerNormShape& shape);

}  // namespace lockstep::kernels
