// Which of the vector code runs.
#pragma once

#include <span>

#include "backend/cpu/kernels.hpp"

namespace lockstep::inline v0::backend::cpu {

/// The variants that this build has and this machine can run, the widest last.
std::span<const Kernels* const> usable_variants();
/// The variant in use: the widest, unless LOCKSTEP_CPU_VARIANT names a lower one. @throws
/// InvalidUsage for a name that is none of them
const Kernels& kernels();
/// Tests compare variants by this; not while operations run.
void use_variant(const Kernels& kernels);

template <class T>
const FloatKernels<T>& kernels_for();
template <>
inline const FloatKernels<float>& kernels_for<float>() {
  return kernels().float32;
}
template <>
inline const FloatKernels<double>& kernels_for<double>() {
  return kernels().float64;
}

}  // namespace lockstep::inline v0::backend::cpu
