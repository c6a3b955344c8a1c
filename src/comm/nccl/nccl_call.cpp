#include "comm/nccl/nccl_call.hpp"

#include <cstdlib>

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::detail::nccl {

NcclFailed failed(ncclResult_t result, ncclComm_t communicator) {
  const char* text = ncclGetLastError(communicator);
  return {result, text == nullptr ? "" : text};
}

const char* name(ncclResult_t result) noexcept {
  switch (result) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    case ncclInProgress:
      return "ncclInProgress";
    default:
      return "unknown result of NCCL";
  }
}

std::string to_string(const NcclFailed& failure) {
  std::string text = name(failure.result) + std::string(": ") + ncclGetErrorString(failure.result);
  if (!failure.text.empty()) text += " (" + failure.text + ")";
  return text;
}

std::string interface_text() {
  const char* interfaces = std::getenv("NCCL_SOCKET_IFNAME");
  if (interfaces == nullptr || *interfaces == '\0') return "";
  return std::string("; NCCL_SOCKET_IFNAME is \"") + interfaces +
         "\", which must name a network interface of every host";
}

ncclDataType_t datatype(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return ncclFloat32;
    case DType::float64:
      return ncclFloat64;
    case DType::bfloat16:
      return ncclBfloat16;
    case DType::float16:
      return ncclFloat16;
    case DType::int64:
      return ncclInt64;
    case DType::int32:
      return ncclInt32;
    case DType::uint8:
      return ncclUint8;
  }
  return ncclUint8;
}

ncclRedOp_t operation(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return ncclSum;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
  }
  return ncclSum;
}

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  throw DeviceError(std::string("[nccl] ") + call + ": " + cudaGetErrorName(code) + ": " +
                        cudaGetErrorString(code),
                    static_cast<int>(code));
}

}  // namespace lockstep::inline v0::detail::nccl
