// A matrix product with its epilogue, on the host: D = epilogue(alpha op(A) op(B) + beta C).
#pragma once

#include "emulation/src/cublaslt/descriptors.hpp"
#include "emulation/stream_queue.hpp"

namespace emulation {

// Everything of a call of cublasLtMatmul, by value. Numbers and bias are read, and D is written,
// when it runs.
struct Product {
  MatmulDescription description;
  MatrixLayout a, b, c, d;
  const void* a_data = nullptr;
  const void* b_data = nullptr;
  const void* c_data = nullptr;
  void* d_data = nullptr;
  double host_alpha = 0;  // pointer mode host
  double host_beta = 0;
  const void* device_alpha = nullptr;  // pointer mode device
  const void* device_beta = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;  // that the algorithm uses
};

void compute(const Product& product);

// C = A B, all of them by columns without gaps between these; accumulated in their own type.
// a_step is the distance of A's columns, or of its rows if it is given transposed; b likewise.
struct PlainProduct {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  std::int64_t a_step, b_step;
};
void multiply(const PlainProduct& sizes, const float* a, const float* b, float* c);
void multiply(const PlainProduct& sizes, const double* a, const double* b, double* c);

}  // namespace emulation
