#include "backend/cpu/vector/tables.hpp"

#define LOCKSTEP_TEXT(x) #x
#define LOCKSTEP_NAME(x) LOCKSTEP_TEXT(x)

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {

const Kernels kKernels = {
    LOCKSTEP_NAME(LOCKSTEP_VARIANT),
    {&kOptimizer32, &kElementwise32, &kUnary32, &kReduction32, &kLoss32, &kNormalization32,
     &kPairLoss32, &kRandom32, &kEigen32},
    {&kOptimizer64, &kElementwise64, &kUnary64, &kReduction64, &kLoss64, &kNormalization64,
     &kPairLoss64, &kRandom64, &kEigen64},
    &kConversion,
};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
