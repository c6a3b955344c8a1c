#include "backend/cpu/vector/softmax.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {

const LossKernels<float> kLoss32 = {softmax_row<float>};
const LossKernels<double> kLoss64 = {softmax_row<double>};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
