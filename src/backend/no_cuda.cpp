// In place of the CUDA backend in a build without it.
#include <string>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"
#include "backend/capture.hpp"

namespace lockstep::inline v0 {

int cuda_device_count() noexcept { return 0; }

namespace backend {
namespace {

[[noreturn]] void refuse(int index) {
  throw BackendUnavailable("[cuda] device cuda:" + std::to_string(index) +
                           " was asked for, but this lockstep was built without CUDA; use the "
                           "device cpu, or build with -DLOCKSTEP_CUDA=ON");
}

[[noreturn]] void refuse(const char* what) {
  throw BackendUnavailable("[cuda] " + std::string(what) +
                           ": this lockstep was built without CUDA; build with -DLOCKSTEP_CUDA=ON");
}

}  // namespace

const Backend& cuda_backend(int index) { refuse(index); }
Queue cuda_current_queue(int index) { refuse(index); }
ChosenQueue set_cuda_queue(int index, ChosenQueue) { refuse(index); }
void cuda_order(int index, Queue, Queue) { refuse(index); }
int cuda_device_of(const void*) { refuse("borrow of device memory"); }
int cuda_current_device() { refuse("the current device"); }
void cuda_keep_device(bool) noexcept {}
bool cuda_puts_back(int) noexcept { return true; }
void cuda_allow_tf32(bool) { refuse("allow_tf32"); }
bool cuda_tf32_allowed() { refuse("tf32_allowed"); }
void forget_problems_of_ranks(int) noexcept {}
std::string cuda_missing_reason() { return "this lockstep was built without CUDA"; }
CudaDeviceDescription cuda_device_description(int index) { refuse(index); }
std::unique_ptr<Recording> make_cuda_recording(int index) { refuse(index); }

}  // namespace backend
}  // namespace lockstep::inline v0
