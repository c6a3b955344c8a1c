// Copies between arrays of the same sizes and different strides.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

/// The outermost axis first. Strides are in elements; 0 repeats the source. The caller has merged
/// axes where it could. No axis: one element.
struct StridedCopy {
  static constexpr int kMaxAxes = 8;
  int axes = 0;
  std::int64_t sizes[kMaxAxes] = {};
  std::int64_t source_strides[kMaxAxes] = {};
  std::int64_t destination_strides[kMaxAxes] = {};
};

/// Elements of 1, 2, 4 or 8 bytes. The arrays must not overlap.
cudaError_t strided_copy(const StridedCopy& copy, std::int64_t element_bytes, const void* source,
                         void* destination, cudaStream_t stream);

}  // namespace lockstep::kernels
