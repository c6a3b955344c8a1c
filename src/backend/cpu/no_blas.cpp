// In place of blas_gemm.cpp in a build without a BLAS.
#include "backend/cpu/gemm_libraries.hpp"

namespace lockstep::inline v0::backend::cpu {

CpuGemm* blas_gemm() { return nullptr; }
const char* blas_name() { return nullptr; }
void set_blas_thread_count(int) {}

}  // namespace lockstep::inline v0::backend::cpu
