// The error policy for calls into the CUDA runtime and cuBLAS: a failure becomes a DeviceError.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep::inline v0::backend::cuda {

/// @throws DeviceError naming the call, the device that is current and CUDA's own text.
void check(cudaError_t status, const char* call);
/// For kernels: the name of the operation, and what it was given.
void check_launch(cudaError_t status, const char* operation, std::int64_t count);
/// @throws DeviceError; `status` is a cublasStatus_t.
void check_blas(int status, const char* call);

/// Makes a device current, and what was current before on the way out: a program's own device stays
/// as it was. See cuda_puts_back().
class DeviceGuard {
 public:
  explicit DeviceGuard(int index);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace lockstep::inline v0::backend::cuda
