// On x86-64 all three variants are built, and the machine decides.
#include <array>

#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace baseline {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}

std::span<const Kernels* const> usable_variants() {
  static const std::array<const Kernels*, 3> variants = {&baseline::kKernels, &avx2::kKernels,
                                                         &avx512::kKernels};
  static const std::size_t count = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx512 ? 3 : 2;
  }();
  return {variants.data(), count};
}

}  // namespace lockstep::inline v0::backend::cpu
