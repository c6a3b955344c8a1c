// What cuBLASLt would refuse.
#pragma once

#include "emulation/src/cublaslt/product.hpp"

namespace emulation {

// Types, shapes, leading dimensions, epilogues.
cublasStatus_t check_problem(const MatmulDescription& description, const MatrixLayout& a,
                             const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d);

// That the pointers are there, aligned as their types and the bias need, in device memory and long
// enough.
cublasStatus_t check_memory(const Product& product);

// What an algorithm was chosen for; fits into cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t mark;
  std::uint32_t alignment[4];  // bytes, of A, B, C, D
  std::uint64_t workspace_bytes;
};
Algorithm choose_algorithm(const MatmulPreference& preference, const MatrixLayout& a,
                           const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d);
cublasStatus_t check_algorithm(const Algorithm& algorithm, const Product& product,
                               std::size_t workspace_bytes);

}  // namespace emulation
