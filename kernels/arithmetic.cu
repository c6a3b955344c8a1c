#include "kernels/arithmetic.hpp"

#include "kernels/launch.cuh"
#include "kernels/map.cuh"

namespace lockstep::kernels {
namespace {

template <class T>
struct Affine {
  T alpha;
  T beta;
  __device__ __forceinline__ T operator()(T x) const { return alpha * x + beta; }
};

template <class T>
struct AddScaled {
  T alpha;
  __device__ __forceinline__ T operator()(T x, T y) const { return y + alpha * x; }
};

template <class T>
struct Scale {
  T alpha;
  __device__ __forceinline__ T operator()(T y) const { return y * alpha; }
};

template <class T>
struct ScaleByDevice {
  const double* factor;
  __device__ __forceinline__ T operator()(T y) const { return y * static_cast<T>(*factor); }
};

template <class T>
struct ScaledDifference {
  T factor;
  __device__ __forceinline__ T operator()(T a, T b) const { return factor * (a - b); }
};

}  // namespace

cudaError_t affine(Type type, const void* x, double alpha, double beta, void* result,
                   std::int64_t count, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return map_one<T>(Affine<T>{static_cast<T>(alpha), static_cast<T>(beta)}, x, result, count,
                      stream);
  });
}

cudaError_t add_scaled(Type type, double alpha, const void* x, void* y, std::int64_t count,
                       cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return map_two<T>(AddScaled<T>{static_cast<T>(alpha)}, x, y, y, count, stream);
  });
}

cudaError_t scale(Type type, double alpha, void* y, std::int64_t count, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return map_one<T>(Scale<T>{static_cast<T>(alpha)}, y, y, count, stream);
  });
}

cudaError_t scale_by_device(Type type, const double* factor, void* y, std::int64_t count,
                            cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return map_one<T>(ScaleByDevice<T>{factor}, y, y, count, stream);
  });
}

cudaError_t scaled_difference(Type type, const void* a, const void* b, double factor, void* result,
                              std::int64_t count, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    return map_two<T>(ScaledDifference<T>{static_cast<T>(factor)}, a, b, result, count, stream);
  });
}

}  // namespace lockstep::kernels
