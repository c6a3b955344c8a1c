#include "backend/cuda/call.hpp"

#include <string>

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::backend::cuda {
namespace {

std::string where() {
  int index = 0;
  return cudaGetDevice(&index) == cudaSuccess ? " on cuda:" + std::to_string(index) : "";
}

std::string reason(cudaError_t status) {
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // an error that has been reported is not reported again
  throw DeviceError(std::string("[cuda] ") + call + where() + ": " + reason(status), status);
}

void check_launch(cudaError_t status, const char* operation, std::int64_t count) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError(std::string("[cuda] ") + operation + " of " + std::to_string(count) +
                        " elements" + where() + ": " + reason(status),
                    status);
}

void check_blas(int status, const char* call) {
  if (status == 0) return;
  throw DeviceError(
      std::string("[cublas] ") + call + where() + ": status " + std::to_string(status), status);
}

DeviceGuard::DeviceGuard(int index) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  if (before_ == index) return;
  check(cudaSetDevice(index), "cudaSetDevice");
  changed_ = true;
}

DeviceGuard::~DeviceGuard() {
  if (changed_) static_cast<void>(cudaSetDevice(before_));
}

}  // namespace lockstep::inline v0::backend::cuda
