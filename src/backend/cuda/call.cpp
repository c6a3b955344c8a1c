#include "backend/cuda/call.hpp"

#include <dlfcn.h>

#include <atomic>
#include <string>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"

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
  if (changed_ && cuda_puts_back(before_)) static_cast<void>(cudaSetDevice(before_));
}

}  // namespace lockstep::inline v0::backend::cuda

namespace lockstep::inline v0::backend {
namespace {

std::atomic<bool> keep_device = false;

/// Only the driver tells. True where it does not.
bool has_context(int index) noexcept {
  using State = int (*)(int device, unsigned* flags, int* active);
  static const State state = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<State>(driver == nullptr ? nullptr
                                                     : dlsym(driver, "cuDevicePrimaryCtxGetState"));
  }();
  unsigned flags = 0;
  int active = 0;
  return state == nullptr || state(index, &flags, &active) != 0 || active != 0;
}

}  // namespace

void cuda_keep_device(bool keep) noexcept { keep_device = keep; }
bool cuda_puts_back(int index) noexcept { return !keep_device || has_context(index); }

}  // namespace lockstep::inline v0::backend
