#include "kernels/sum.hpp"

#include "kernels/column_sums.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Element {
  using Value = double;
  const T* x;
  std::int64_t extent;
  __device__ __forceinline__ double operator()(std::int64_t row, std::int64_t i) const {
    return static_cast<double>(x[row * extent + i]);
  }
};

}  // namespace

cudaError_t sum(Type type, const void* x, std::int64_t outer, std::int64_t extent,
                std::int64_t inner, double factor, bool accumulate, void* result, void* workspace,
                cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    const T* values = static_cast<const T*>(x);
    const StoreSum<T> finish{factor, accumulate, static_cast<T*>(result)};
    if (inner == 1)
      return row_sums(Element<T>{values, extent}, finish, outer, extent, workspace, stream);
    return column_sums(ElementColumns<T>{values, extent, inner}, {outer, extent, inner}, finish,
                       workspace, stream);
  });
}

std::int64_t sum_workspace_bytes(std::int64_t outer, std::int64_t extent, std::int64_t inner) {
  if (inner == 1) return row_sums_workspace_bytes<double>(outer, extent);
  return column_sums_workspace_bytes({outer, extent, inner});
}

}  // namespace lockstep::kernels
