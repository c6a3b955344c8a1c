#include <string>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"
#include "backend/cpu/cpu_elementwise.hpp"
#include "backend/cpu/cpu_embedding.hpp"
#include "backend/cpu/cpu_loss.hpp"
#include "backend/cpu/cpu_memory.hpp"
#include "backend/cpu/cpu_normalization.hpp"
#include "backend/cpu/cpu_optimizer.hpp"
#include "backend/cpu/cpu_random.hpp"
#include "backend/cpu/cpu_reduction.hpp"
#include "backend/cpu/cpu_scalars.hpp"
#include "backend/cpu/gemm_libraries.hpp"
#include "backend/cpu/thread_pool.hpp"

namespace lockstep::inline v0::backend {

const Backend& cpu_backend() {
  // Never destroyed: tensors of static storage duration may be released after any other object.
  static const Backend& backend = *new Backend{
      *new cpu::CpuMemory,
      *new cpu::CpuElementwise,
      *new cpu::CpuReduction,
      cpu::blas_gemm() != nullptr ? *cpu::blas_gemm() : cpu::eigen_gemm(),
      *new cpu::CpuLoss,
      *new cpu::CpuOptimizer,
      *new cpu::CpuRandom,
      *new cpu::CpuScalars,
      *new cpu::CpuNormalization,
      *new cpu::CpuEmbedding,
  };
  return backend;
}

void set_cpu_thread_count(int count) {
  if (count < 1)
    throw InvalidUsage("[cpu] thread count is " + std::to_string(count) + "; at least 1 is needed");
  cpu::set_loop_thread_count(count);
  cpu::set_blas_thread_count(count);
}

int cpu_thread_count() { return cpu::loop_thread_count(); }

const char* cpu_gemm_library() {
  const char* name = cpu::blas_name();
  return name != nullptr ? name : "eigen";
}

}  // namespace lockstep::inline v0::backend
