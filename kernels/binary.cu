#include "kernels/binary.hpp"

#include "kernels/launch.cuh"
#include "kernels/pack.cuh"

namespace lockstep::kernels {
namespace {

struct Add {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return a / b;
  }
};

/// A pack of the operand; along its last axis an operand has a stride of 1 or is repeated. A pack
/// of one element fits any stride.
template <int kWidth, class T>
__device__ __forceinline__ Pack<T, kWidth> load_or_repeat(const T* from, bool repeated) {
  if (!repeated) return load<kWidth>(from);
  Pack<T, kWidth> pack;
  const T value = *from;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) pack.values[j] = value;
  return pack;
}

/// Index: 32 bits where the result is small enough, since 64-bit divisions cost several times more.
template <class T, class Operation, class Index>
struct Binary {
  Broadcast broadcast;
  const T* a;
  const T* b;
  T* result;

  template <int kWidth>
  __device__ __forceinline__ void run(std::int64_t i) const {
    std::int64_t a_offset = 0;
    std::int64_t b_offset = 0;
    Index rest = static_cast<Index>(i);
    const int last = broadcast.axes - 1;
    for (int axis = last; axis > 0; --axis) {
      const Index size = static_cast<Index>(broadcast.sizes[axis]);
      const Index above = rest / size;
      const std::int64_t position = static_cast<std::int64_t>(rest - above * size);
      a_offset += position * broadcast.a_strides[axis];
      b_offset += position * broadcast.b_strides[axis];
      rest = above;
    }
    a_offset += static_cast<std::int64_t>(rest) * broadcast.a_strides[0];
    b_offset += static_cast<std::int64_t>(rest) * broadcast.b_strides[0];
    const Pack<T, kWidth> left =
        load_or_repeat<kWidth>(a + a_offset, broadcast.a_strides[last] == 0);
    const Pack<T, kWidth> right =
        load_or_repeat<kWidth>(b + b_offset, broadcast.b_strides[last] == 0);
    Pack<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      out.values[j] = Operation::apply(left.values[j], right.values[j]);
    store(result + i, out);
  }
};

/// Whether an operand can be read in packs: they must not cross the end of the last axis, and all
/// of them must begin at a multiple of their size.
bool fits_packs(const Broadcast& broadcast, const std::int64_t* strides, const void* operand,
                int width) {
  const int last = broadcast.axes - 1;
  if (last > 0 && broadcast.sizes[last] % width != 0) return false;
  if (strides[last] == 0) return true;
  if (strides[last] != 1 || !are_aligned(16, operand)) return false;
  for (int axis = 0; axis < last; ++axis)
    if (strides[axis] % width != 0) return false;
  return true;
}

template <class T, class Operation>
cudaError_t broadcast_binary(const Broadcast& given, const void* a, const void* b, void* result,
                             cudaStream_t stream) {
  if (given.axes < 0 || given.axes > Broadcast::kMaxAxes) return cudaErrorInvalidValue;
  Broadcast broadcast = given;
  if (broadcast.axes == 0) {
    broadcast.axes = 1;
    broadcast.sizes[0] = 1;
    broadcast.a_strides[0] = 0;
    broadcast.b_strides[0] = 0;
  }
  std::int64_t count = 1;
  for (int axis = 0; axis < broadcast.axes; ++axis) count *= broadcast.sizes[axis];
  const bool packs = fits_packs(broadcast, broadcast.a_strides, a, kPackWidth<T>) &&
                     fits_packs(broadcast, broadcast.b_strides, b, kPackWidth<T>) &&
                     are_aligned(16, result);
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  T* target = static_cast<T*>(result);
  if (count < (std::int64_t{1} << 31))
    return launch_for_each<kPackWidth<T>>(
        Binary<T, Operation, std::uint32_t>{broadcast, left, right, target}, count, packs, stream);
  return launch_for_each<kPackWidth<T>>(
      Binary<T, Operation, std::uint64_t>{broadcast, left, right, target}, count, packs, stream);
}

}  // namespace

cudaError_t binary(BinaryOperation operation, Type type, const Broadcast& broadcast, const void* a,
                   const void* b, void* result, cudaStream_t stream) {
  return with_float_type(type, [&]<class T>(Tag<T>) {
    switch (operation) {
      case BinaryOperation::add:
        return broadcast_binary<T, Add>(broadcast, a, b, result, stream);
      case BinaryOperation::sub:
        return broadcast_binary<T, Sub>(broadcast, a, b, result, stream);
      case BinaryOperation::mul:
        return broadcast_binary<T, Mul>(broadcast, a, b, result, stream);
      case BinaryOperation::div:
        return broadcast_binary<T, Div>(broadcast, a, b, result, stream);
    }
    return cudaErrorInvalidValue;
  });
}

}  // namespace lockstep::kernels
