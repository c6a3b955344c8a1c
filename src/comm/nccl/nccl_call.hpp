// Single calls of NCCL and of the CUDA runtime: checked results, names and types.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

#include <lockstep/comm/communicator.hpp>

namespace lockstep::inline v0::detail::nccl {

/// An NCCL call returned an error. Becomes an exception of lockstep where the collective is known.
struct NcclFailed {
  ncclResult_t result;
  std::string text;  // what NCCL says about it
};

/// With NCCL's last words on it. The communicator may be null.
NcclFailed failed(ncclResult_t result, ncclComm_t communicator);

/// "ncclSystemError".
const char* name(ncclResult_t result) noexcept;
/// "ncclSystemError: unhandled system error (...)".
std::string to_string(const NcclFailed& failure);

/// What to look at when ranks do not connect: the interface that the environment names, if it does.
std::string interface_text();

ncclDataType_t datatype(DType dtype) noexcept;
ncclRedOp_t operation(ReduceOp op) noexcept;

/// @throws DeviceError
void check(cudaError_t code, const char* call);

}  // namespace lockstep::inline v0::detail::nccl
