// Declares the tables of one variant (namespace LOCKSTEP_VARIANT) and what its files share.
#pragma once

#include "backend/cpu/kernels.hpp"

#if defined(__clang__)
#define LOCKSTEP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LOCKSTEP_INDEPENDENT _Pragma("GCC ivdep")
#endif
// LOCKSTEP_INDEPENDENT before a loop: its iterations do not depend on each other. Operands may be
// the same memory as the result, element by element, which `restrict` would forbid.

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {

extern const OptimizerKernels<float> kOptimizer32;
extern const OptimizerKernels<double> kOptimizer64;
extern const ElementwiseKernels<float> kElementwise32;
extern const ElementwiseKernels<double> kElementwise64;
extern const UnaryKernels<float> kUnary32;
extern const UnaryKernels<double> kUnary64;
extern const ReductionKernels<float> kReduction32;
extern const ReductionKernels<double> kReduction64;
extern const LossKernels<float> kLoss32;
extern const LossKernels<double> kLoss64;
extern const NormalizationKernels<float> kNormalization32;
extern const NormalizationKernels<double> kNormalization64;
extern const PairLossKernels<float> kPairLoss32;
extern const PairLossKernels<double> kPairLoss64;
extern const RandomKernels<float> kRandom32;
extern const RandomKernels<double> kRandom64;
extern const EigenKernels<float> kEigen32;
extern const EigenKernels<double> kEigen64;
extern const ConversionKernels kConversion;
extern const Kernels kKernels;

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
