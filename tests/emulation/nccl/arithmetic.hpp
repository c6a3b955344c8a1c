// What reductions do with values.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace emulation::nccl {

std::size_t size_of(ncclDataType_t type);  // 0: no such type

/// result[i] over the sources, one per rank. Begins with the last rank for the first elements, and
/// with another one further on: like NCCL, it promises no order.
void reduce(ncclDataType_t type, ncclRedOp_t op, const std::vector<const void*>& sources,
            void* result, std::size_t count);

}  // namespace emulation::nccl
