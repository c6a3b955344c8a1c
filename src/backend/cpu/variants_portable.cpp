// Where there is one set of instructions for all machines, there is one variant.
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {
namespace baseline {
extern const Kernels kKernels;
}

std::span<const Kernels* const> usable_variants() {
  static const Kernels* const variants[] = {&baseline::kKernels};
  return variants;
}

}  // namespace lockstep::inline v0::backend::cpu
