// The losses of core/loss_functions.hpp. float32 and float64; sums in float64, in an order that
// depends on the count alone.
#pragma once

#include "core/pair_loss.hpp"
#include "kernels/type.hpp"

namespace lockstep::kernels {

/// factor * sum over pairs -> one element. The workspace has pair_loss_workspace_bytes(loss) bytes
/// of device memory, null if none.
cudaError_t pair_loss(Type type, const portable::PairLoss& loss, const void* prediction,
                      const void* target, void* result, void* workspace, cudaStream_t stream);
std::int64_t pair_loss_workspace_bytes(const portable::PairLoss& loss);

/// result = derivative by the prediction, or by the target, * (*gradient * factor).
cudaError_t pair_loss_backward(Type type, const portable::PairLoss& loss, const void* prediction,
                               const void* target, const void* gradient, bool of_target,
                               void* result, cudaStream_t stream);

}  // namespace lockstep::kernels
