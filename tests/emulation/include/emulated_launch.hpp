// What the kernel side of the stand-in's headers needs of its library.
#pragma once

#include <cstdint>
#include <functional>

#include "cuda_runtime_api.h"

extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;

namespace emulation {

// Queues a kernel; body is what one thread does.
cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> body);

// For the bodies of kernels. A thread goes on when all threads of its block, or all lanes of its
// warp that are named in mask, have arrived or ended.
void block_barrier();
int block_sum(int value);  // a barrier, and the sum of the threads' values
int lane();
// The value that the source lane gave; all bits set if that lane takes no part.
std::uint64_t warp_exchange(unsigned mask, std::uint64_t value, int source);
unsigned warp_ballot(unsigned mask, bool value);

}  // namespace emulation
