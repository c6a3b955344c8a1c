// Runs the blocks of a grid, one after the other, their threads as fibers.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace emulation {

// With state().execution held. The order of the threads follows from the seed.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& body);

}  // namespace emulation
