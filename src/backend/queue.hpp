// The order in which a device runs what it is given. The CPU runs everything at the call and
// ignores it.
#pragma once

namespace lockstep::inline v0::backend {

struct Queue {
  void* stream = nullptr;  // a cudaStream_t on CUDA
};

}  // namespace lockstep::inline v0::backend
