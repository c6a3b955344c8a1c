// The unary operations of core/unary_functions.hpp. float32 and float64; the same bits as on the
// CPU. The numbers are float64 and rounded once to the type. The result may be an operand.
#pragma once

#include "core/unary_operation.hpp"
#include "kernels/type.hpp"

namespace lockstep::kernels {

cudaError_t unary(portable::UnaryOperation operation, Type type, const void* x,
                  const portable::UnaryNumbers<double>& numbers, void* result, std::int64_t count,
                  cudaStream_t stream);
/// result = gradient * derivative, from x or from the result of `unary`, as the operation says.
cudaError_t unary_backward(portable::UnaryOperation operation, Type type, const void* saved,
                           const void* gradient, const portable::UnaryNumbers<double>& numbers,
                           void* result, std::int64_t count, cudaStream_t stream);

}  // namespace lockstep::kernels
